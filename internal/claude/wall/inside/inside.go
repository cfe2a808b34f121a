// Package inside builds the wall around an agent from within: it is what the program does between its start in new
// namespaces and the CLI that takes its place. It hides what the plan says, gives its rights away, and becomes the CLI.
//
// It runs before the program's other packages are initialized, which would take longer than all the rest. So it imports
// nothing but syscall, and has no dependency that waits for others.
package inside

// Variable is the environment variable that makes the program build a wall and become another program.
const Variable = "MAGPIE_WALL"

// The files by which the program that waits outside speaks with this one: the plan comes by the first; the second gets
// a byte when this program runs, and is closed when the CLI runs, or carries what went wrong.
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

// Separator is between the number of the error, the step and the path of a failure.
const Separator = "\x00"
