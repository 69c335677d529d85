"""The paper's experiments: a file each, with the published figures; what runs and shows them."""
