package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/claude/transcript"
	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
)

// begunSession is a session that was begun with the CLI alone.
type begunSession struct {
	transcript.Session
	Dir     string
	Project string
}

// begun lists the sessions that were begun with the CLI alone and are no chat's: the one of that ID, or with none the newest
// of each project. Two projects may have the same folder.
func (p *program) begun(ctx context.Context, _ terminal.Peer, id string) ([]begunSession, error) {
	machine, all, seen := p.pool.Config().Transcripts(""), []begunSession{}, map[string]bool{}
	for _, place := range p.cfg.BridgeConfig().Projects.List() {
		if place.Away != "" || seen[place.Dir] {
			continue
		}
		seen[place.Dir] = true
		list, err := machine.Sessions(place.Dir, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, s := range list {
			if first, err := p.store.Turns().FirstTurn(ctx, s.ID); err != nil {
				return nil, err
			} else if first == 0 {
				all = append(all, begunSession{s, place.Dir, place.Name})
			}
		}
	}
	return all, nil
}

// adopt makes a session that was begun with the CLI alone that of a chat with this key, unless it is a chat's already. It
// returns [handoffs.ErrTaken] with the process in which it is open, or [chat.ErrNoChat] if there is no such session.
func (p *program) adopt(ctx context.Context, key chat.Key, session string) (l handoffs.Lease, err error) {
	if first, err := p.store.Turns().FirstTurn(ctx, session); err != nil || first != 0 {
		return l, err
	}
	if err := p.pool.Config().CheckTerminal(); err != nil {
		return l, err
	}
	machine, err := p.pool.Config().AgentOf("")
	if err != nil {
		return l, err
	}
	if pid, _ := machine.InTerminal(session); pid != 0 {
		return handoffs.Lease{Pid: pid, Found: true}, handoffs.ErrTaken
	}
	list, err := p.begun(ctx, terminal.Peer{}, session)
	if err != nil {
		return l, err
	}
	i := slices.IndexFunc(list, func(s begunSession) bool { return s.ID == session })
	if i < 0 {
		return l, chat.ErrNoChat
	}
	chats := p.store.Programs()
	err = chats.Tx(ctx, "session "+session, func(ctx context.Context, tx *sql.Tx) error {
		return chats.Open(ctx, tx, key, "", list[i].Project)
	})
	if err != nil {
		return l, err
	}
	return l, p.bridge.Adopt(ctx, key, session, list[i].Dir)
}

// list prints a line for each session that was begun with the CLI alone.
func (c attachCmd) list(ctx context.Context) error {
	list, err := callService[[]begunSession](ctx, c.configFlag, "attach/list", "")
	if err != nil {
		return err
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
