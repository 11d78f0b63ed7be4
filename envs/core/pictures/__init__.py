"""One drawing, two pictures: SVG text and RGB arrays."""
