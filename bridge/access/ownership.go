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
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// Founder knows to whom the app belongs.
type Founder interface {
	// Owner gives the user's id, or an error when the platform does not tell.
	Owner(ctx context.Context) (string, error)
}

// App is the app of the bot on the platform.
type App struct {
	ID      string   // the platform's; empty = its owner is not looked for
	Founder Founder  // nil = the platform cannot be asked for the owner
	Found   db.Owner // who was found earlier to be the owner, if anybody
	// Lang is the language in which somebody is spoken to, as far as it is known; empty = it is not. nil = it never is.
	Lang func(ctx context.Context, user string) i18n.Lang
}

// Ownership finds out to whom the bot belongs when the configuration does not say so: the platform is asked, and when
// it does not tell, the first who sends the code of the log in a private chat is the owner. What was found is kept.
type Ownership struct {
	app        string
	founder    Founder
	owners     db.Owners
	lang       func(ctx context.Context, user string) i18n.Lang
	out        delivery.Messenger
	authorizer *Authorizer // learns who the owner is
	log        zerolog.Logger

	mu         sync.Mutex
	configured Config
	found      db.Owner // no User = nobody yet
	code       string   // that makes its bearer the owner; empty = none is out
	unknown    bool     // the platform was asked and did not know
}

// NewOwnership makes an Ownership of an app. It tells the authorizer who the owner is, and welcomes him through out.
func NewOwnership(
	app App, owners db.Owners, out delivery.Messenger, authorizer *Authorizer, log zerolog.Logger,
) *Ownership {
	return &Ownership{
		app: app.ID, founder: app.Founder, found: app.Found, owners: owners, lang: app.Lang, out: out,
		authorizer: authorizer, log: log,
	}
}

// Set takes over what the configuration says. Whom it names owns the bot, whoever was found.
func (o *Ownership) Set(a Config) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.configured = a
	o.applyLocked()
	o.issueLocked()
}

func (o *Ownership) applyLocked() {
	a := o.configured
	if a.Owner == "" {
		a.Owner = o.found.User
	}
	if a.Owner != "" {
		o.code = ""
	}
	o.authorizer.Store(&a)
}

// owner is to whom the bot belongs; empty = it is not known.
func (o *Ownership) owner() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.configured.Owner != "" {
		return o.configured.Owner
	}
	return o.found.User
}

// askTimeout is how long the platform may take to tell the owner.
const askTimeout = 30 * time.Second

// Run looks for the owner, and welcomes him.
func (o *Ownership) Run(ctx context.Context) {
	if o.app == "" {
		return
	}
	if o.owner() == "" && !o.asked(ctx) && ctx.Err() == nil {
		o.mu.Lock()
		o.unknown = true
		o.issueLocked()
		o.mu.Unlock()
	}
	o.welcome(ctx)
}

// asked reports whether the platform has told the owner.
func (o *Ownership) asked(ctx context.Context) bool {
	if o.founder == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	user, err := o.founder.Owner(ctx)
	if err == nil && user == "" {
		err = errors.New("it names nobody")
	}
	if err == nil {
		err = o.setOwner(ctx, db.Owner{App: o.app, User: user, Source: db.Creator})
	}
	if err != nil {
		o.log.Info().Err(err).Msg("the platform does not tell to whom the bot belongs")
		return false
	}
	return true
}

// setOwner stores who was found and lets him in. If somebody else was quicker, that one stays.
func (o *Ownership) setOwner(ctx context.Context, owner db.Owner) error {
	if _, err := o.owners.SetIfUnknown(ctx, owner); err != nil {
		return err
	}
	owner, err := o.owners.Found(ctx, o.app)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found = owner
	o.applyLocked()
	o.log.Info().Str("user", owner.User).Str("source", string(owner.Source)).Msg("the bot has an owner")
	return nil
}

// CodeWord begins a code, so that a message which holds one is known without comparing.
const CodeWord = "MAGPIE-"

// issueLocked puts out a code, unless the owner may still be found otherwise or nobody is kept out for want of one.
func (o *Ownership) issueLocked() {
	a := o.configured
	owned := a.Owner != "" || o.found.User != "" || len(a.Admins) > 0
	if !o.unknown || o.code != "" || owned || slices.Contains(a.Allow, "*") {
		return
	}
	o.code = CodeWord + rand.Text() // 130 bits: nobody guesses it
	o.log.Warn().Str("code", o.code).Msg("nobody owns the bot: whoever sends it this code in a private chat " +
		"becomes its owner; it can be used once")
}

// claim takes in a message that may be the code, before anybody asks who its author is. It reports whether the message
// was one: then it is nothing that is kept or answered otherwise.
func (o *Ownership) claim(ctx context.Context, m chat.Incoming) (bool, error) {
	o.mu.Lock()
	code, spent := o.code, o.found.Message
	o.mu.Unlock()
	if spent != "" && m.ID == spent {
		return true, nil // delivered again
	}
	word := strings.ToUpper(strings.TrimSpace(m.Text))
	if code == "" || m.Kind != chat.Private || m.Actor.ID == "" || !strings.HasPrefix(word, CodeWord) {
		return false, nil
	}
	if subtle.ConstantTimeCompare([]byte(word), []byte(code)) != 1 {
		o.log.Warn().Str("user", m.Actor.ID).Msg("a wrong code was sent to become the bot's owner")
		return false, nil
	}
	err := o.setOwner(ctx, db.Owner{App: o.app, User: m.Actor.ID, Source: db.CodeBearer, Message: m.ID})
	return true, err
}

// welcomeTimeout bounds the tries to send the welcome.
const welcomeTimeout = time.Minute

// welcome writes to an owner who has not heard of the bot yet. What fails is tried again at the next start.
func (o *Ownership) welcome(ctx context.Context) {
	user := o.owner()
	if o.app == "" || user == "" {
		return
	}
	due, err := o.owners.Unwelcomed(ctx, o.app, user)
	if err == nil && due {
		ctx, cancel := context.WithTimeout(ctx, welcomeTimeout)
		defer cancel()
		text := i18n.OwnerWelcome.ZH + "\n\n" + i18n.OwnerWelcome.EN // as long as his language is not known
		if o.lang != nil {
			if l := o.lang(ctx, user); l != "" {
				text = i18n.OwnerWelcome.In(l)
			}
		}
		to, idem := chat.Ref{Key: chat.FeishuUser(user)}, "welcome:"+o.app+":"+user
		if _, err = o.out.Reply(ctx, to, text, idem); err == nil {
			err = o.owners.Welcomed(ctx, o.app, user)
		}
	}
	if err != nil && ctx.Err() == nil {
		o.log.Error().Err(err).Msg("the owner was not welcomed")
	}
}
