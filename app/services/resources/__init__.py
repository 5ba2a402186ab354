"""Resources: files in and out, their aliases, texts, references and where bytes come from."""
