package chat

// Upload is a file that the bot wants to send.
type Upload struct {
	Name    string // for users
	Picture bool   // send it as an image, if the platform accepts it as one
	Data    []byte
}
