"""The two array libraries behind `autograd_gpu.backend.Backend`; nothing here knows of graphs."""
