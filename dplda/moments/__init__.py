"""What one document contributes to each statistic, in closed form."""
