// Package diskspace measures the free space of a disk. It does not decide what to do when there is little.
package diskspace
