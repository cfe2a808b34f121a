package delivery

import "io/fs"

// mayHaveOtherNames does not know: Windows counts the names of a file only for whom has it open.
func mayHaveOtherNames(fs.FileInfo) bool { return true }
