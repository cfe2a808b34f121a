package migrate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// seal writes a store with a secret as lark-channel-bridge does, with the key in a file.
func seal(t *testing.T, dir, id, secret string) {
	t.Helper()
	sealWith(t, dir, id, secret, "keyfile", strings.Repeat("k", 32))
	must(t, os.WriteFile(filepath.Join(dir, ".keystore.key"), []byte(strings.Repeat("k", 32)), 0o600))
}

func sealWith(t *testing.T, dir, id, secret, kind, seed string) {
	t.Helper()
	salt := []byte(strings.Repeat("s", 32))
	key, err := pbkdf2.Key(sha256.New, seed, salt, 100_000, 32)
	must(t, err)
	block, err := aes.NewCipher(key)
	must(t, err)
	gcm, err := cipher.NewGCM(block)
	must(t, err)
	iv := []byte(strings.Repeat("i", 12))
	sealed := gcm.Seal(nil, iv, []byte(secret), nil)
	n := len(sealed) - 16
	data, err := json.Marshal(map[string]any{
		"version": 1, "entries": map[string]any{id: envelope{IV: iv, Data: sealed[:n], Tag: sealed[n:], Key: kind}},
	})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "secrets.enc"), data, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".keystore.salt"), salt, 0o600))
}

// Older versions derive the key from the names of the machine and of the user instead of a file.
func TestTheKeyOfTheMachine(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	must(t, err)
	u, err := user.Current()
	must(t, err)
	for seed, want := range map[string]string{host + "|" + u.Username: "app-secret", "another|" + u.Username: ""} {
		r := lcbReader{state: t.TempDir()}
		r.reader = newReader("", Options{})
		sealWith(t, r.state, "app-cli_1", "app-secret", "", seed)
		if got, err := r.readStored("other", "app-cli_1"); got != want || (err == nil) != (want != "") {
			t.Errorf("with the key of %s: %q, %v", seed, got, err)
		}
	}
}

// A store that was written by the other program's own library can be opened.
func TestAStoreOfNode(t *testing.T) {
	t.Parallel()
	r := lcbReader{state: t.TempDir()}
	r.reader = newReader("", Options{})
	for name, text := range map[string]string{
		".keystore.salt": strings.Repeat("\x01", 32), ".keystore.key": strings.Repeat("\x02", 32),
		"secrets.enc": `{"version":1,"entries":{"app-cli_1":{"iv":"AwMDAwMDAwMDAwMD","data":"7CBBG0m9fiI9MvpXvQ==",` +
			`"tag":"AEhqyO5zIDjFeacwSgz7Qg==","kdf":"keyfile"}}}`,
	} {
		must(t, os.WriteFile(filepath.Join(r.state, name), []byte(text), 0o600))
	}
	if got, err := r.readStored("app-cli_1"); got != "from node ✓" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
