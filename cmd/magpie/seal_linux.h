// magpie_wipe overwrites the value of a variable where the kernel has put it.
void magpie_wipe(const char *name);
