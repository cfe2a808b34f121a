package db_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// Both engines find the same messages: those that were imported, said, edited and recalled. MAGPIE_TEST_MESSAGES has it look
// through more.
func TestBothEnginesFindTheSame(t *testing.T) {
	dbtest.OfPostgres(t)
	n := 3000
	if more, err := strconv.Atoi(os.Getenv("MAGPIE_TEST_MESSAGES")); err == nil {
		n = more
	}
	file, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + filepath.Join(t.TempDir(), "magpie.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // looked at by other tests
	both := []*db.DB{file, fresh(t)}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var s []string
		for range 3 + random.IntN(20) {
			// few words are in most messages, and most words in few
			s = append(s, words[int(float64(len(words))*random.ExpFloat64()/6)%len(words)])
		}
		return strings.Join(s, " ")
	}
	steps := []func(d *db.DB, add func(list []db.Record) (int, error)){}
	for i := 0; i < n; i += 500 {
		var list []db.Record
		for j := i; j < min(i+500, n); j++ {
			list = append(list, db.Record{Kind: chat.Group, Message: chat.Message{
				Key: chat.FeishuChat(fmt.Sprint("oc_", 1+j%3)), ID: fmt.Sprint("om_", j), Role: []chat.Role{chat.User, chat.Assistant}[j%2],
				Class: []chat.Class{chat.Talk, chat.Talk, chat.Overheard, chat.Command}[random.IntN(4)], Text: text(),
				Time: time.Unix(1_700_000_000+int64(j)*600, 0).UTC(),
			}})
		}
		steps = append(steps, func(_ *db.DB, add func(list []db.Record) (int, error)) {
			if _, err := add(slices.Clone(list)); err != nil {
				t.Fatal(err)
			}
		})
	}
	for i := range 300 {
		e := say(fmt.Sprint("om_said_", i), text())
		edit := e
		edit.Text, edit.Held = text(), &chat.Card{Body: "edited"}
		steps = append(steps, func(d *db.DB, _ func(list []db.Record) (int, error)) {
			accept(t, d, e)
			switch i % 5 {
			case 1:
				if _, err := d.Messages().Edit(t.Context(), edit); err != nil {
					t.Fatal(err)
				}
			case 2:
				if _, err := d.Messages().Recall(t.Context(), oc, e.ID, chat.Card{}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for _, d := range both {
		importer := d.Messages().Importer()
		add := func(list []db.Record) (int, error) { return importer(t.Context(), list) }
		for _, step := range steps {
			step(d, add)
		}
	}
	const most = 40
	for i := range 200 {
		terms := slices.Compact(slices.Sorted(slices.Values(tokenize.Terms(text()))))
		key := chat.FeishuChat(fmt.Sprint("oc_", 1+i%4)) // the last one is unknown
		var found [2]db.Found
		var said [2][]chat.Message
		for j, d := range both {
			var err error
			if found[j], err = d.Search().Find(t.Context(), key, 0, terms, most); err != nil {
				t.Fatal(err)
			}
			for k := range found[j].Terms { // those that SQLite has not indexed yet come on top
				p := &found[j].Terms[k]
				p.Seqs, p.More = p.Seqs[:min(len(p.Seqs), most)], false
			}
			if said[j], err = d.Search().WithWords(t.Context(), key, words[i%len(words)]+" "+words[(i*7)%len(words)], most); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(found[0], found[1]); diff != "" {
			t.Fatalf("%v in %v: %s", terms, key, diff)
		}
		// What was overheard counts and is left out then, but for what SQLite has not indexed yet.
		if diff := cmp.Diff(said[0][:min(len(said[0]), len(said[1]))], said[1], cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("words %d in %v: %s", i, key, diff)
		}
	}
}

// words are in the messages of [TestBothEnginesFindTheSame].
var words = strings.Fields(`部署 服务器 日志 数据库 备份 磁盘 内存 重启 the build server failed again tonight 检查 一下 配置 文件 error timeout
	retry queue 消息 队列 超时 用户 登录 password token 更新 版本 release v1.2.3 回滚 rollback docker 容器 kubernetes 集群 网络 latency 延迟
	监控 告警 alert dashboard 2026-11-28 明天 下午 会议 review 代码 merge 分支 branch café naïve Straße 東京 😀 don't it's foo_bar a-b`)
