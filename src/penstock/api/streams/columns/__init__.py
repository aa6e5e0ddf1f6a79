"""Operations on the columns of streams of rows."""
