"""The matching network of Section 4.2: propagation, readout, matching."""
