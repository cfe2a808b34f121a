// Package inside builds the wall around an agent from within: it is what the program does between its start and
// the CLI that takes its place. It hides what the plan says, gives its rights away, and becomes the CLI.
//
// It runs before the program's other packages are initialized, which would take longer than all the rest. So it imports
// nothing but syscall, and has no dependency that waits for others.
package inside

// Variable is the environment variable that makes the program build a wall and become another program. Its value is the
// last capability of the kernel.
const Variable = "MAGPIE_WALL"

// The files by which the program that waits outside speaks with this one. By the first comes the plan, and a byte when the
// IDs of the new process are mapped. The second carries the ID of that process and [End], is closed when the CLI runs, or
// carries what went wrong.
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
	Last   = '.' // the end of the plan
	Rights = 'r' // keep the rights of root, which do not reach out of the wall
)

// End ends the ID of a process.
const End = "\n"

// Separator is between the number of the error, the step and the path of a failure.
const Separator = "\x00"
