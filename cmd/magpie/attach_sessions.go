package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/transcript"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// begunSession is a session that was begun with the CLI alone.
type begunSession struct {
	transcript.Session
	Dir string
}

// shownSessions is how many transcripts of each project are looked at.
const shownSessions = 20

// eachBegun calls do with the sessions that were begun with the CLI alone and are no chat's, until it returns false.
func (p *program) eachBegun(ctx context.Context, do func(workplace.Place, transcript.Session) bool) error {
	machine := p.pool.Config().Transcripts("")
	for _, place := range p.cfg.BridgeConfig().Projects.List() {
		if place.Away != "" {
			continue
		}
		list, err := machine.Sessions(place.Dir, shownSessions)
		if err != nil {
			return err
		}
		for _, s := range list {
			if first, err := p.store.Turns().FirstTurn(ctx, s.ID); err != nil {
				return err
			} else if first == 0 && !do(place, s) {
				return nil
			}
		}
	}
	return nil
}

// listBegun answers [attachCmd.list].
func (p *program) listBegun(w http.ResponseWriter, r *http.Request) {
	list, seen := []begunSession{}, map[string]bool{} // two projects may have the same folder
	err := p.eachBegun(r.Context(), func(place workplace.Place, s transcript.Session) bool {
		if !seen[s.ID] {
			list = append(list, begunSession{s, place.Dir})
		}
		seen[s.ID] = true
		return true
	})
	if err != nil {
		p.log.Warn().Err(err).Msg("sessions of this machine's user not listed")
		http.Error(w, "the sessions cannot be read", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(list) // fails only if the command has gone
}

// isAdopted reports whether a session has become that of a chat with this key; an attempt may have ended half-way.
func (p *program) isAdopted(ctx context.Context, key chat.Key, session string) (bool, error) {
	if _, err := p.store.Chats().Get(ctx, key); errors.Is(err, db.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if _, held, err := p.store.Handoffs().Of(ctx, key); err != nil || held {
		return held, err
	}
	first, err := p.store.Turns().FirstTurn(ctx, session)
	return first != 0, err
}

// adopt makes a session that was begun with the CLI alone that of a chat with this key, unless it is already.
func (p *program) adopt(ctx context.Context, key chat.Key, session string, l i18n.Lang) attachAnswer {
	if done, err := p.isAdopted(ctx, key, session); err != nil {
		return p.refuse(key, l, err)
	} else if done {
		return attachAnswer{}
	}
	if err := p.pool.Config().CheckTerminal(); err != nil {
		return p.refuse(key, l, err)
	}
	machine, err := p.pool.Config().AgentOf("")
	if err != nil {
		return p.refuse(key, l, err)
	}
	if pid, _ := machine.InTerminal(session); pid != 0 {
		return attachAnswer{Problem: attachTaken, Pid: pid, Since: time.Now()}
	}
	answer := attachAnswer{Problem: attachNoChat}
	err = p.eachBegun(ctx, func(place workplace.Place, s transcript.Session) bool {
		if s.ID != session {
			return true
		}
		chats := p.store.Programs()
		err := chats.Tx(ctx, "session "+session, func(ctx context.Context, tx *sql.Tx) error {
			return chats.Open(ctx, tx, key, "", place.Name)
		})
		if err == nil {
			err = p.bridge.Adopt(ctx, key, session, place.Dir)
		}
		if answer = (attachAnswer{}); err != nil {
			answer = p.refuse(key, l, err)
		}
		return false
	})
	if err != nil {
		return p.refuse(key, l, err)
	}
	return answer
}

// refuse says why a chat does not go on in a terminal.
func (p *program) refuse(key chat.Key, l i18n.Lang, err error) attachAnswer {
	p.log.Warn().Err(err).Stringer("chat", key).Msg("a chat does not go on in a terminal")
	if lost := new(claude.LostError); errors.As(err, &lost) {
		err = i18n.Mistakef("会话接不上：先在聊天里问一句", "the session cannot be resumed: ask something in the chat first")
	}
	return attachAnswer{Problem: attachRefused, Why: i18n.ErrorText(l, err)}
}

// list prints a line for each session that was begun with the CLI alone.
func (c attachCmd) list(ctx context.Context) error {
	cfg, err := config.ReadForDatabase(c.Config, os.Environ())
	if err != nil {
		return err
	}
	client, err := dialService(ctx, cfg, terminal.Main)
	if err != nil {
		return err
	}
	var list []begunSession
	if err := client.Call(ctx, http.MethodPost, "attach/list", nil, &list); err != nil {
		return i18n.Mistakef("服务没有照办：%v", "the service has not done it: %v", err)
	}
	l := userLang()
	if len(list) == 0 {
		fmt.Println(i18n.CmdNoSessions.In(l))
		return nil
	}
	rows := [][]string{strings.Split(i18n.CmdSessionColumns.In(l), "\t")}
	for _, s := range list {
		rows = append(rows, []string{s.ID, s.Updated.Local().Format(time.DateTime), i18n.Visible(s.Dir), i18n.Excerpt(i18n.Visible(s.Text), 40)})
	}
	fmt.Print(table(rows))
	return nil
}
