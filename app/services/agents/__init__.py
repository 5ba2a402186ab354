"""What an agent host needs beside the stores: tools for its model, and whoever runs them."""
