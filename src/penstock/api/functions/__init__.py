"""What users write: function classes and what they are given."""
