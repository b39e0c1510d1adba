"""libisocenter_kernels.so and its header, for isocenter.local and programs in C. There is nothing to call here."""
