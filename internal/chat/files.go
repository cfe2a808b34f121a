package chat

// Upload is a file that the bot wants to send.
type Upload struct {
	Name    string // as people see it
	Picture bool   // to be sent as an image, if the platform accepts it as one
	Data    []byte
}
