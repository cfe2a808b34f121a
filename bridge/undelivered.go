package bridge

import (
	"context"
	"strings"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// ObstacleIn says in a language what keeps messages from being sent, and what to do about it.
func ObstacleIn(o chat.Obstacle, lang i18n.Lang) string { return obstaclePhrase(o).In(lang) }

func obstaclePhrase(o chat.Obstacle) i18n.Phrase {
	switch o {
	case chat.NotAvailable:
		return i18n.ObstacleUnavailable
	case chat.NoPermission:
		return i18n.ObstaclePermission
	case chat.NotShared:
		return i18n.ObstacleSharing
	case chat.OutOfRange:
		return i18n.ObstacleRange
	case chat.BotOff:
		return i18n.ObstacleBot
	case chat.WrongCredentials:
		return i18n.ObstacleCredentials
	case chat.AppDisabled:
		return i18n.ObstacleDisabled
	case chat.AppNotInstalled:
		return i18n.ObstacleUninstalled
	case chat.UnknownObstacle:
	}
	return i18n.ObstacleUnknown
}

// undelivered tells admins how many messages wait for the platform, and why. Empty = none has failed.
func (cs *commandSet) undelivered(ctx context.Context, lang i18n.Lang) (string, error) {
	list, err := cs.db.Outbox().Undelivered(ctx)
	if err != nil || len(list) == 0 {
		return "", err
	}
	var reasons []string
	for _, u := range list {
		reasons = append(reasons, i18n.UndeliveredFor.Sprintf(lang, u.Posts, ObstacleIn(u.Obstacle, lang)))
	}
	return i18n.StatusUndelivered.Sprintf(lang, strings.Join(reasons, i18n.Enumeration.In(lang))), nil
}
