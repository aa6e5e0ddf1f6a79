"""What a job tells about itself while it runs."""
