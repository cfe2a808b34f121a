package sqlite

// syncFolder does nothing: NTFS keeps names in its own journal, and a folder cannot be flushed.
func syncFolder(string) error { return nil }
