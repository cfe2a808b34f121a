package migrate

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"magpie/internal/safepath"
)

// lcbSecrets says where secrets are that are not in the configuration itself.
type lcbSecrets struct {
	Providers map[string]lcbProvider `json:"providers"`
	Defaults  map[string]string      `json:"defaults"` // provider of a kind of source
}

type lcbProvider struct {
	Allowed []string `json:"allowlist"` // variables that may be read
	Path    string   `json:"path"`      // folder of files
}

// lcbRef names a secret stored elsewhere.
type lcbRef struct {
	Source   string `json:"source"` // env | file | exec
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

var lcbVariable = regexp.MustCompile(`^\$\{([A-Z][A-Z0-9_]{0,127})\}$`)

// secret finds the secret of an app (src/config/secret-resolver.ts). It starts no program: the program in the
// configuration is usually that of lark-channel-bridge itself, which reads the same store as this function.
func (r *lcbReader) secret(app lcbApp) (string, error) {
	var text string
	if json.Unmarshal(app.Secret, &text) == nil {
		if m := lcbVariable.FindStringSubmatch(text); m != nil {
			return r.lookupVariable(m[1])
		}
		return text, nil
	}
	var ref lcbRef
	if json.Unmarshal(app.Secret, &ref) != nil {
		return "", errors.New("accounts.app.secret is neither text nor a reference")
	}
	secrets := r.profile.Secrets
	if secrets.Providers == nil {
		secrets = r.cfg.Secrets
	}
	p := secrets.Providers[cmp.Or(ref.Provider, secrets.Defaults[ref.Source], "default")]
	switch ref.Source {
	case "env":
		if len(p.Allowed) > 0 && !slices.Contains(p.Allowed, ref.ID) {
			return "", fmt.Errorf("$%s is not in the allowlist", ref.ID)
		}
		return r.lookupVariable(ref.ID)
	case "file":
		data, err := safepath.ReadFile(filepath.Join(p.Path, ref.ID), largestSecret)
		return strings.TrimSpace(string(data)), err
	case "exec":
		return r.readStored(ref.ID, "app-"+app.ID)
	}
	return "", fmt.Errorf("unknown source %q", ref.Source)
}

func (r *lcbReader) lookupVariable(name string) (string, error) {
	if v := r.vars[name]; v != "" {
		return v, nil
	}
	return "", fmt.Errorf("$%s is not set", name)
}

// envelope is an encrypted secret of the store (src/config/keystore.ts): AES-256-GCM with a key of PBKDF2.
type envelope struct {
	IV   []byte `json:"iv"`
	Data []byte `json:"data"`
	Tag  []byte `json:"tag"`
	Key  string `json:"kdf"` // keyfile; empty = the key is derived from the names of the machine and the user
}

// readStored reads a secret of the store: the first of the IDs that exists.
func (r *lcbReader) readStored(ids ...string) (string, error) {
	var store struct {
		Entries map[string]envelope `json:"entries"`
	}
	path := filepath.Join(r.state, "secrets.enc")
	if err := readJSON(path, largestSecret, &store); err != nil {
		return "", fmt.Errorf("%s: %s", path, r.explain(err))
	}
	for _, id := range ids {
		if e, ok := store.Entries[id]; ok {
			secret, err := e.open(r.state)
			if err != nil {
				return "", fmt.Errorf("%s: %w", path, err)
			}
			return secret, nil
		}
	}
	return "", fmt.Errorf("%s has no %q", path, ids[0])
}

// rounds is the iteration count of PBKDF2.
const rounds = 100_000

// open decrypts a secret with the keys beside it.
func (e envelope) open(dir string) (string, error) {
	salt, err := safepath.ReadFile(filepath.Join(dir, ".keystore.salt"), largestSecret)
	if err != nil {
		return "", err
	}
	seed, err := e.keySeed(dir)
	if err != nil {
		return "", err
	}
	key, err := pbkdf2.Key(sha256.New, seed, salt, rounds, 32)
	if err != nil {
		return "", err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	if len(e.IV) != gcm.NonceSize() {
		return "", errors.New("the entry is damaged")
	}
	secret, err := gcm.Open(nil, e.IV, append(slices.Clone(e.Data), e.Tag...), nil)
	return string(secret), err
}

// keySeed is the input of the key derivation.
func (e envelope) keySeed(dir string) (string, error) {
	if e.Key == "keyfile" {
		key, err := safepath.ReadFile(filepath.Join(dir, ".keystore.key"), largestSecret)
		return string(key), err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return host + "|" + u.Username, nil
}
