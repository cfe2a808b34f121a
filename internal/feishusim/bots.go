package feishusim

// AddApp makes another bot of the tenant. It writes like a person, and is not a member that the API lists.
func (w *world) AddApp(name string) User {
	u := User{OpenID: newID("ou_"), UnionID: newID("on_"), AppID: "cli_" + randomHex(8), Name: name}
	w.notify.bump()
	return u
}

// sender is the author of a message.
func (u User) sender() Sender {
	if u.AppID != "" {
		return Sender{ID: u.AppID, Type: "app", Name: u.Name, OpenBotID: u.OpenID}
	}
	return Sender{ID: u.OpenID, Type: "user", Name: u.Name}
}
