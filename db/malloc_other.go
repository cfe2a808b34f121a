//go:build !linux || !cgo

package db

func keepTogether() {}
