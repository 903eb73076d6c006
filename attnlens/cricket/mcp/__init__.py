"""What language models' clients may ask: balls explained over the Model Context Protocol."""
