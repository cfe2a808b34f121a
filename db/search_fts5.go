//go:build sqlite_fts5 || fts5

package db

// fullText says whether SQLite was built with its full-text search.
const fullText = true
