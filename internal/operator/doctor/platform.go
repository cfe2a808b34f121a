package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"magpie/db"
	"magpie/feishu"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// maxClockSkew is how far two clocks may be apart.
const maxClockSkew = time.Minute

// CheckPlatform checks whether the platform accepts the app's credentials, and which settings the app lacks there.
func CheckPlatform(ctx context.Context, r *Report, c config.Config) feishu.Checkup {
	if !c.HasFeishu() && c.Validate() == nil {
		r.AddFinding(OK, "", i18n.DoctorNoFeishu)
	}
	// Missing credentials are reported with the configuration.
	if c.Feishu.Validate() != nil {
		return feishu.Checkup{}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	found := feishu.Check(ctx, c.Feishu)
	console := c.Feishu.Console()
	switch {
	case found.IsRefused():
		r.AddFinding(Fail, r.text(i18n.DoctorCopyAgain, console.Credentials()), i18n.DoctorRefused, c.Feishu.PlatformName(), reason(found.Credentials))
	case found.Credentials != nil:
		r.AddFinding(Fail, r.text(adviceOf(c.Feishu)), i18n.DoctorUnreached, c.Feishu.PlatformName(), reason(found.Credentials))
	default:
		r.AddFinding(OK, "", i18n.DoctorTaken, c.Feishu.PlatformName())
		checkApp(r, found, found.App.Missing(scopes(ctx, c)...), console)
		checkEvents(r, found, console)
	}
	switch {
	// The platform need not send its time.
	case !found.ClockKnown:
	case found.ClockAhead.Abs() > maxClockSkew:
		r.AddFinding(Warn, r.text(i18n.DoctorKeepTime), i18n.DoctorClock, found.ClockAhead.Abs())
	default:
		r.AddFinding(OK, "", i18n.DoctorClockRight)
	}
	return found
}

// adviceOf is what to do about a platform that cannot be reached.
func adviceOf(c feishu.Config) i18n.Phrase {
	if c.HasOwnAddress() {
		return i18n.DoctorCheckAddress
	}
	return i18n.DoctorCheckNetwork
}

// scopes are the permissions that the app needs because of the configuration, and of the groups' own settings.
func scopes(ctx context.Context, c config.Config) (list []string) {
	department := func(id string) bool { return strings.HasPrefix(id, "od_") }
	if slices.ContainsFunc(c.Access.Allow, department) || slices.ContainsFunc(c.Access.Deny, department) {
		list = append(list, feishu.ForDepartments...)
	}
	rules := append(mentionRules(ctx, c), c.Chat.GroupMention)
	if slices.ContainsFunc(rules, func(r chat.MentionRule) bool { return r.IsValid() && r != chat.MentionOnly }) {
		list = append(list, feishu.ForAllOfGroups...)
	}
	if c.Chat.AnswerBots {
		list = append(list, feishu.ForBots...)
	}
	return list
}

// mentionRules returns the mention rules that groups have set. It ignores an unreadable database, which has a finding
// of its own.
func mentionRules(ctx context.Context, c config.Config) (rules []chat.MentionRule) {
	store, err := db.OpenReadOnly(ctx, c.DBConfig())
	if err != nil {
		return nil
	}
	defer store.Close() //nolint:errcheck // it was only read
	set, err := store.Chats().MentionRules(ctx)
	if err != nil {
		return nil
	}
	for _, r := range set {
		rules = append(rules, chat.MentionRule(r))
	}
	return rules
}

// reason is what the platform says, without the call that we made.
func reason(err error) error {
	if bad := (interface{ Reason() error })(nil); errors.As(err, &bad) {
		return bad.Reason()
	}
	return err
}

// checkApp reports whether an accepted app has the bot capability and all permissions.
func checkApp(r *Report, found feishu.Checkup, lacks feishu.MissingSettings, console feishu.Console) {
	if found.Bot != nil {
		r.AddFinding(Fail, r.text(i18n.DoctorAddBot, console.Bot(), console.Versions()), i18n.DoctorBotNone, reason(found.Bot))
	} else {
		r.AddFinding(OK, "", i18n.DoctorBot)
	}
	add := func(scopes []string) string {
		return r.text(i18n.DoctorAddScopes, console.Scopes(scopes), console.Versions())
	}
	switch {
	case len(found.Missing) > 0:
		r.AddFinding(Fail, add(found.Missing), i18n.DoctorScopesRefused, strings.Join(found.Missing, r.text(i18n.DoctorScopesAny)))
	case found.Chats != nil || found.Members != nil:
		r.AddFinding(Warn, r.text(i18n.DoctorSeeList), i18n.DoctorScopesUnknown, reason(cmp.Or(found.Chats, found.Members)))
	case len(lacks.Scopes) > 0:
		r.AddFinding(Warn, add(lacks.Scopes), i18n.DoctorScopesLack, i18n.Listing(lacks.Scopes))
	default:
		r.AddFinding(OK, "", i18n.DoctorScopes)
	}
	if len(lacks.OptionalScopes) > 0 {
		r.AddFinding(OK, "", i18n.DoctorScopesUseful,
			i18n.Listing(lacks.OptionalScopes), console.Scopes(lacks.OptionalScopes))
	}
}

// checkEvents reports events and callbacks to which the app has not subscribed.
func checkEvents(r *Report, found feishu.Checkup, console feishu.Console) {
	if found.AppInfo != nil {
		return // the subscriptions are unknown; the missing permission has been reported
	}
	lacks := found.App.Missing()
	do := r.text(i18n.DoctorAddEvents, console.Events(), console.Versions())
	switch missing := append(lacks.Events, lacks.Callbacks...); {
	case lacks.LacksMessageEvent():
		r.AddFinding(Fail, do, i18n.DoctorDeaf, i18n.Listing(missing))
	case len(missing) > 0:
		r.AddFinding(Warn, do, i18n.DoctorEventsLack, i18n.Listing(missing))
	default:
		r.AddFinding(OK, "", i18n.DoctorEvents)
	}
	if len(lacks.OptionalEvents) > 0 {
		r.AddFinding(OK, "", i18n.DoctorEventsUseful, i18n.Listing(lacks.OptionalEvents), console.Events())
	}
}

// maxIDs limits the configured IDs that are looked up: each takes a call.
const maxIDs = 50

// checkIDs reports IDs in the configuration that the platform does not know: they would neither grant nor deny access.
func checkIDs(ctx context.Context, r *Report, c config.Config) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	keys := []struct {
		name string
		ids  []string
	}{
		{"owner", []string{c.Access.Owner}}, {"admins", c.Access.Admins}, {"allow", c.Access.Allow}, {"deny", c.Access.Deny},
	}
	var all []string
	for _, key := range keys {
		for _, id := range key.ids {
			if !slices.Contains(all, id) && len(all) < maxIDs {
				all = append(all, id)
			}
		}
	}
	unknown := feishu.UnknownIDs(ctx, c.Feishu, all)
	for _, key := range keys {
		for _, id := range key.ids {
			switch known := !slices.Contains(unknown, id); {
			case known:
			case key.name == "owner":
				r.AddFinding(Warn, r.text(i18n.DoctorCorrectOwner), i18n.DoctorOwnerUnknown, id)
			default:
				r.AddFinding(Warn, r.text(i18n.DoctorCorrectID), i18n.DoctorIDUnknown, id, key.name)
			}
		}
	}
}

// checkOwner reports the owner of the bot if the configuration gives nobody access.
func checkOwner(ctx context.Context, r *Report, c config.Config, app feishu.App) {
	if !c.Access.IsEmpty() || c.Feishu.AppID == "" {
		return
	}
	user := app.Owner
	if store, err := db.OpenReadOnly(ctx, c.DBConfig()); err == nil { // a broken database has a finding of its own
		if found, err := store.Access().Owner(ctx, c.Feishu.AppID, false); err == nil {
			user = found.User
		}
		_ = store.Close() // it was only read
	}
	if user == "" {
		r.AddFinding(Warn, r.text(i18n.DoctorMakeOwner), i18n.DoctorNobody)
		return
	}
	r.AddFinding(OK, "", i18n.DoctorOwnedBy, user)
}
