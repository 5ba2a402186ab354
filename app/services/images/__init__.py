"""Images: decodes them within limits of work and memory, and makes copies that fit a target."""
