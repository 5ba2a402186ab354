"""The stores: blobs in a directory or an S3 bucket, records in SQL."""
