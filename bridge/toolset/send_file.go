package toolset

import (
	"context"
	"fmt"
	"time"

	"magpie/bridge/delivery"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
)

const sendFileTool = "Shows a file of the project to the people of this chat: pictures as pictures, everything else " +
	"as a file to download. Use it when the user asks for a file, and for what you have made that is better seen than " +
	"described: a plot, a document, an archive. Only files in the project folder can be sent, of 30 MB at most. " +
	"The people see it at once, before the rest of your answer; do not send the same file twice."

// Limits of the files that one turn sends.
const (
	longestCaption = 2000             // runes
	maxSent        = 20               // files per turn
	deliveryWait   = 20 * time.Second // how long the agent waits for the result
)

// SendFileInput is the input of the tool that sends a file.
type SendFileInput struct {
	Path    string `json:"path" jsonschema:"the file, in the project folder"`
	Caption string `json:"caption,omitempty" jsonschema:"a line that says what it is, in the language of the user, Markdown; may be empty"`
}

// SendFile queues a file as a reply to the turn's message, and waits a while for its delivery.
func (s *Set) SendFile(ctx context.Context, key chat.Key, in SendFileInput) (string, error) {
	a, err := s.RunningTurn(key)
	if err != nil {
		return "", err
	}
	if n := len([]rune(in.Caption)); n > longestCaption {
		return "", agenttools.Refusedf("Not sent: the caption has %d characters, and %d are the most. "+
			"Say the rest in your answer.", n, longestCaption)
	}
	turn := a.Turn
	switch n, err := s.DB.Outbox().CountFiles(ctx, turn.ID); {
	case err != nil:
		return "", err
	case n >= maxSent:
		return "", agenttools.Refusedf("Not sent: %d files are the most for one question. Pack the rest into an "+
			"archive, "+
			"and offer to send it when the user asks.", maxSent)
	}
	// An agent that waits for the delivery can tell the user the truth about it.
	p, isNew, err := s.Outbox.SendFile(
		ctx, turn, delivery.File{Project: a.Project, Path: in.Path, Caption: in.Caption}, deliveryWait,
	)
	if err != nil {
		return "", err
	}
	return deliveryReply(p, isNew)
}

// deliveryReply tells the agent the result of a delivery.
func deliveryReply(p db.FileDelivery, isNew bool) (string, error) {
	switch {
	case p.State == db.Shown && !isNew:
		return "You have sent this file already; it is shown once.", nil
	case p.State == db.Shown && p.Picture:
		return fmt.Sprintf("Sent: the people see the picture %q now.", p.Name), nil
	case p.State == db.Shown:
		return fmt.Sprintf("Sent: the people can open %q now.", p.Name), nil
	case p.State == db.OnItsWay:
		return "Not delivered yet: the platform does not take it right now. " +
			"It will be delivered as soon as it does; do not send it again.", nil
	case p.State == db.RefusedFile:
		return "", agenttools.Refusedf("Not sent: the platform does not take this file. The people were told so.")
	}
	return "", agenttools.Refusedf("Not sent: the question was taken back, or the chat is gone.")
}
