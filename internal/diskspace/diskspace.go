// Package diskspace tells how much room a disk has. What is done when there is little does not belong here.
package diskspace
