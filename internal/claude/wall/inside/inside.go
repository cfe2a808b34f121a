// Package inside builds the wall around an agent from within: it is what the program does between its start in new
// namespaces and the CLI that takes its place. It hides what the plan says, gives its rights away, and becomes the CLI.
//
// It runs before the program's other packages are initialized, which would take longer than all the rest. So it imports
// nothing but syscall, and has no dependency that waits for others.
package inside

// Variable is the environment variable that makes the program start itself in new namespaces, where it builds a wall and
// becomes another program. Its value is the last capability of the kernel, and there [Here].
const (
	Variable = "MAGPIE_WALL"
	Here     = "here"
)

// The files by which the program that waits outside speaks with this one: the plan comes by the first; the second
// carries the ID of the process in the new namespaces and [End], [Runs] when that process runs, and is closed when the
// CLI does, or carries what went wrong.
const (
	PlanFile   = 3
	StatusFile = 4
)

// The kinds of lines of a plan. A line is a kind and a value, and ends with a zero byte.
const (
	Hide   = 'h' // a file or folder that is not to be there
	Show   = 's' // a file or folder below a hidden one that is to be there
	Group  = 'g' // the first is the group to become, the others are further groups
	User   = 'u' // the user to become
	Dir    = 'd' // the working folder
	Path   = 'p' // the program to become; without one, the wall is only tried
	Arg    = 'a' // the next of its arguments, its name first
	Rights = 'r' // keep the rights of root, which do not reach out of the wall
)

const (
	// End ends the ID of the process.
	End = "\n"
	// Runs is said by the process. Until then it may still count as the program that has started it, whose files below
	// /proc no other user than root may open.
	Runs = "."
)

// Separator is between the number of the error, the step and the path of a failure.
const Separator = "\x00"
