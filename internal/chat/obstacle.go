package chat

// Obstacle is what keeps the platform from taking messages for now.
type Obstacle string

// The obstacles. An operator has to remove all but the first two.
const (
	UnknownObstacle  Obstacle = ""
	NotAvailable     Obstacle = "unavailable" // not reached, or overloaded
	NoPermission     Obstacle = "permission"
	NotShared        Obstacle = "sharing" // a missing permission, or the group belongs to another company
	OutOfRange       Obstacle = "range"   // the person may not use the app
	BotOff           Obstacle = "bot"
	WrongCredentials Obstacle = "credentials"
	AppDisabled      Obstacle = "disabled"
	AppNotInstalled  Obstacle = "uninstalled"
)
