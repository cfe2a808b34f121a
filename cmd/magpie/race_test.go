//go:build race

package main

// raced tells that the race detector watches this process.
const raced = true
