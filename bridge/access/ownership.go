package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/db"
	"magpie/db/cluster"
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// How an owner was found: see [db.Owner].
const (
	creator    = "creator" // the platform named the owner
	codeBearer = "code"    // the user sent the code from the log
)

// Founder knows who owns the app.
type Founder interface {
	// Owner returns the user's ID, or an error if the platform does not tell.
	Owner(ctx context.Context) (string, error)
}

// App is the app of the bot on the platform.
type App struct {
	ID      string   // the app ID on the platform; empty = the owner is not looked up
	Channel string   // of the platform
	Founder Founder  // nil = the platform cannot be asked for the owner
	Found   db.Owner // the owner found earlier, if any
	// Lang is a user's language, empty if unknown. nil = no language is known.
	Lang func(ctx context.Context, user string) i18n.Lang
	// Leads reports whether this bridge welcomes the owner at a start, of several bridges of the app.
	Leads func() bool
	Place *cluster.Place // among these; nil = there is only this one
}

// Ownership finds the owner of the bot if the configuration names none. It asks the platform; if that does not tell,
// the first user who sends the code from the log in a private chat becomes the owner. The result is stored. Each of several
// bridges has a code of its own in its log, and all take any of them.
type Ownership struct {
	App

	owners     db.Access
	out        delivery.Messenger
	authorizer *Authorizer // gets the owner
	log        zerolog.Logger

	mu         sync.Mutex
	configured Config
	found      db.Owner // no User = not found yet
	code       string   // makes its sender the owner; empty = this bridge has issued none
	unknown    bool     // the platform was asked and does not know the owner
}

// NewOwnership makes an Ownership of an app. It passes the owner to the authorizer, and sends the welcome through out.
func NewOwnership(
	app App, owners db.Access, out delivery.Messenger, authorizer *Authorizer, log zerolog.Logger,
) *Ownership {
	if chat.IsFurtherApp(app.Channel) {
		log = log.With().Str("app", app.ID).Logger()
	}
	return &Ownership{App: app, found: app.Found, owners: owners, out: out, authorizer: authorizer, log: log}
}

// Set applies the configuration. An owner named there overrides one that was found.
func (o *Ownership) Set(a Config) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a.OwnerIDs == nil { // they are no part of a file
		a.OwnerIDs = o.configured.OwnerIDs
	}
	o.configured = a
	o.updateAuthorizerLocked()
	o.issueCodeLocked()
}

func (o *Ownership) updateAuthorizerLocked() {
	a := o.configured
	if a.Owner == "" {
		a.Owner = o.found.User
	}
	if a.Owner != "" {
		o.code = ""
	}
	o.authorizer.set(o.Channel, a)
}

// owner returns the owner of the bot; empty = unknown.
func (o *Ownership) owner() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.configured.Owner != "" {
		return o.configured.Owner
	}
	return o.found.User
}

// askTimeout limits the platform's reply about the owner.
const askTimeout = 30 * time.Second

// lookEvery is how often a bridge looks whether another one has found the owner, or is gone.
const lookEvery = 5 * time.Second

// Run finds the owner, and sends the welcome as soon as this bridge leads. It takes the owner that another one has found.
func (o *Ownership) Run(ctx context.Context) {
	if o.ID == "" {
		return
	}
	o.follow(ctx)
	if o.owner() == "" && !o.askPlatform(ctx) && ctx.Err() == nil {
		o.mu.Lock()
		o.unknown = true
		o.issueCodeLocked()
		o.mu.Unlock()
	}
	for !o.Leads() || o.Place != nil && o.owner() == "" {
		o.follow(ctx)
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return
		}
	}
	o.welcome(ctx)
}

// askPlatform asks the platform for the owner, and reports whether it has named one.
func (o *Ownership) askPlatform(ctx context.Context) bool {
	if o.Founder == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	user, err := o.Founder.Owner(ctx)
	if err == nil && user == "" {
		err = errors.New("it names nobody")
	}
	if err == nil {
		err = o.setOwner(ctx, db.Owner{App: o.ID, User: user, Source: creator})
	}
	if err != nil {
		o.log.Info().Err(err).Msg("the platform does not say who owns the bot")
		return false
	}
	return true
}

// follow takes the owner that another bridge has found, if it has. Until then others are to take this one's code.
func (o *Ownership) follow(ctx context.Context) {
	if o.owner() != "" {
		return
	}
	o.mu.Lock()
	code := o.code
	o.mu.Unlock()
	var err error
	if !chat.IsFurtherApp(o.Channel) {
		err = o.Place.ShareCode(ctx, code)
	}
	if err == nil {
		err = o.takeOwner(ctx)
	}
	told := errors.Is(err, db.ErrNotFound) || errors.Is(err, engine.ErrAway) // of which the operator is told once
	if err != nil && !told && ctx.Err() == nil {
		o.log.Error().Err(err).Msg("the owner of the bot could not be read; trying again")
	}
}

// setOwner stores the owner and grants access. If another owner was stored first, that one stays.
func (o *Ownership) setOwner(ctx context.Context, owner db.Owner) error {
	if _, err := o.owners.SetOwner(ctx, owner); err != nil {
		return err
	}
	return o.takeOwner(ctx)
}

// takeOwner grants access to the owner that is stored.
func (o *Ownership) takeOwner(ctx context.Context) error {
	owner, err := o.owners.Owner(ctx, o.ID, false)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found = owner
	o.updateAuthorizerLocked()
	o.log.Info().Str("user", owner.User).Str("source", string(owner.Source)).Msg("the bot has an owner")
	return nil
}

// CodeWord is the prefix of a code, which makes any message with a code recognizable.
const CodeWord = "MAGPIE-"

// issueCodeLocked issues a code, unless the owner may still be found otherwise or nobody needs one to get access.
func (o *Ownership) issueCodeLocked() {
	a := o.configured
	owned := a.Owner != "" || o.found.User != "" || len(a.Admins) > 0
	if !o.unknown || o.code != "" || owned || slices.Contains(a.Allow, "*") {
		return
	}
	if chat.IsFurtherApp(o.Channel) && o.Place != nil { // a bridge shares one code, which is for the other app
		o.log.Error().Msg("nobody owns the bot: name its owner in [feishu.access] owner")
		return
	}
	o.code = CodeWord + rand.Text() // 130 bits, which nobody can guess
	o.log.Warn().Str("code", o.code).Msg("nobody owns the bot: whoever sends it this code in a private chat " +
		"becomes its owner; it can be used once")
}

// claim handles a message that may be the code, before its author is authorized. It returns true if the message was
// one: it is then neither stored nor answered otherwise.
func (o *Ownership) claim(ctx context.Context, m chat.Incoming) (bool, error) {
	o.mu.Lock()
	code, spent := o.code, o.found.Message
	owned := o.configured.Owner != "" || o.found.User != ""
	o.mu.Unlock()
	if spent != "" && m.ID == spent {
		return true, nil // redelivered
	}
	word := strings.ToUpper(strings.TrimSpace(m.Text))
	shared := o.Place != nil && !chat.IsFurtherApp(o.Channel)
	if code == "" && (owned || !shared) || m.Kind != chat.Private || m.Actor.ID == "" || !strings.HasPrefix(word, CodeWord) {
		return false, nil
	}
	valid := subtle.ConstantTimeCompare([]byte(word), []byte(code)) == 1
	if !valid && shared {
		var err error
		if valid, err = o.Place.HasCode(ctx, word); err != nil {
			return false, err
		}
	}
	if !valid {
		o.log.Warn().Str("user", m.Actor.ID).Msg("a wrong code was sent to become the bot's owner")
		return false, nil
	}
	if !(chat.Key{Channel: o.Channel}).Owns(m.Actor.ID) {
		return false, chat.ErrDenied // the app cannot belong to somebody of another door; and no agent is to see the code
	}
	err := o.setOwner(ctx, db.Owner{App: o.ID, User: m.Actor.ID, Source: codeBearer, Message: m.ID})
	return true, err
}

// welcomeTimeout limits the attempts to send the welcome.
const welcomeTimeout = time.Minute

// welcome writes to an owner who has not used the bot yet. If it fails, the next start tries again.
func (o *Ownership) welcome(ctx context.Context) {
	user := o.owner()
	if o.ID == "" || user == "" {
		return
	}
	due, err := o.owners.NeedsWelcome(ctx, o.ID, user)
	if err == nil && due {
		ctx, cancel := context.WithTimeout(ctx, welcomeTimeout)
		defer cancel()
		text := i18n.OwnerWelcome.ZH + "\n\n" + i18n.OwnerWelcome.EN // his language is unknown
		if o.Lang != nil {
			if l := o.Lang(ctx, user); l != "" {
				text = i18n.OwnerWelcome.In(l)
			}
		}
		to, idem := chat.Ref{Key: chat.PersonKey(user)}, "welcome:"+o.ID+":"+user
		if _, err = o.out.Reply(ctx, to, text, idem); err == nil {
			err = o.owners.MarkWelcomed(ctx, o.ID, user)
		}
	}
	if err != nil && ctx.Err() == nil {
		o.log.Error().Err(err).Msg("the owner was not welcomed")
	}
}
