package doctor

// ownerOf is the name of the user to whom a file belongs. On Windows it is not looked up.
func ownerOf(string) string { return "" }

// unwritable is not known on Windows: whether files can be created depends on more than a folder tells.
func unwritable(string) error { return nil }
