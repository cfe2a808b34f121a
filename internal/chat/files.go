package chat

// Upload is a file that the bot wants to show.
type Upload struct {
	Name    string // as people see it
	Picture bool   // to be shown as a picture, if the platform takes it as one
	Data    []byte
}
