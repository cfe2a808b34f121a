//go:build !linux || !cgo

package sqlite

func useSingleHeap() {}
