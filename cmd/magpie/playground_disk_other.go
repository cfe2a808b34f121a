//go:build !linux

package main

import "errors"

const canLimitDisk = false

func limitDisk(int, bool) error { return errors.ErrUnsupported }
