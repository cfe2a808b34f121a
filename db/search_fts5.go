//go:build sqlite_fts5 || fts5 || !cgo

package db

// fullText says whether SQLite was built with its full-text search; the one without cgo always is.
const fullText = true
