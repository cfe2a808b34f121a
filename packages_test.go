package magpie_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTheNPMPackageSaysWhatIsMissing: npm omits the package with the program if it cannot be downloaded, or if it was
// told to.
func TestTheNPMPackageSaysWhatIsMissing(t *testing.T) {
	wrapper, err := os.ReadFile("scripts/packaging/npm/magpie.js")
	if err != nil {
		t.Fatal(err)
	}
	machine, err := exec.CommandContext(t.Context(), "node", "-p", "`${process.platform}-${process.arch}`").Output()
	if err != nil {
		t.Fatalf("Node.js is missing: run scripts/test, which installs it (%v)", err)
	}
	here := strings.TrimSpace(string(machine))
	for _, tc := range []struct{ has, locale, want string }{
		{here, "en_US.UTF-8", "magpie: the program for this machine is missing; it is in the package magpie-bridge-" + here +
			": download magpie-bridge-" + here + "-1.2.3.tgz from the releases page and run npm install -g ./magpie-bridge-" +
			here + "-1.2.3.tgz\n"},
		{here, "zh_CN.UTF-8", "magpie: 缺少本机的程序，它在安装包 magpie-bridge-" + here + " 里：从发布页下载 magpie-bridge-" + here +
			"-1.2.3.tgz，执行 npm install -g ./magpie-bridge-" + here + "-1.2.3.tgz\n"},
		{"vms-vax", "C", "magpie: there is no Magpie for " + here + ", only for vms-vax\n"},
		{"vms-vax", "zh_CN.UTF-8", "magpie: 鹊桥没有 " + here + " 的程序，只有 vms-vax 的\n"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"bin/magpie.js": string(wrapper),
			"package.json":  `{"version": "1.2.3", "optionalDependencies": {"magpie-bridge-` + tc.has + `": "1.2.3"}}`,
		} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "bin", "magpie.js"), "version")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=" + tc.locale}
		out, err := cmd.CombinedOutput()
		if string(out) != tc.want || err == nil {
			t.Errorf("with %s, in %s: %v: %s", tc.has, tc.locale, err, out)
		}
	}
}

// The pages of a package stand alone: a link leads to a file that is there, and nothing is said of scripts that are not.
func TestThePagesOfAPackageStandAlone(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "scripts/packaging/pages", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	links := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range anyLink.FindAllStringSubmatch(fenced.ReplaceAllString(string(data), ""), -1) {
			file, _, _ := strings.Cut(m[1], "#")
			if file == "" || strings.Contains(file, "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
		}
		if strings.HasPrefix(d.Name(), "README") && strings.Contains(string(data), "\n./scripts/") {
			t.Errorf("%s tells to run a script", d.Name())
		}
		return err
	})
	if err != nil || links < 300 {
		t.Errorf("%d links, %v", links, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "scripts", "ecosystem.config.js")); err != nil { // named in a command
		t.Error(err)
	}
}

// The scripts that pack a release work, here with programs of a few bytes. What is in the packages, and whether they can
// be installed, is for scripts/test-release.
func TestTheScriptsThatPackARelease(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("releases are packed on Linux")
	}
	work, dist := t.TempDir(), t.TempDir()
	write := func(name string, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, machine := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		write(filepath.Join(work, strings.ReplaceAll(machine, "_", "-"), "magpie"), "the program for "+machine)
		write(filepath.Join(dist, "magpie_1.2.3_"+machine+".tar.gz"), "the archive for "+machine)
	}
	for _, unit := range []string{"examples/magpie-user.service", "scripts/magpie.service"} {
		write(filepath.Join(work, "doc", unit), "ExecStart=/usr/local/bin/magpie serve\n")
	}
	pack := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "scripts/packaging/"+name, args...)
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return string(out)
	}
	formula := pack("formula", "1.2.3", dist, "https://example.com/1.2.3")
	for _, machine := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		want := fmt.Sprintf("url \"https://example.com/1.2.3/magpie_1.2.3_%s.tar.gz\"\n      sha256 \"%x\"\n", machine,
			sha256.Sum256([]byte("the archive for "+machine)))
		if !strings.Contains(formula, want) {
			t.Errorf("the formula has no %s:\n%s", want, formula)
		}
	}
	pack("oci", "1.2.3", work, dist)
	layout := t.TempDir()
	image := filepath.Join(dist, "magpie_1.2.3_oci.tar")
	if out, err := exec.CommandContext(t.Context(), "tar", "-C", layout, "-xf", image).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	checkImage(t, layout, "index.json")
}

// checkImage follows the descriptors of an OCI image layout from a file on: each names a blob by its size and checksum.
func checkImage(t *testing.T, layout, file string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(layout, file))
	if err != nil {
		t.Fatal(err)
	}
	type descriptor struct {
		MediaType, Digest string
		Size              int
	}
	var node struct {
		Manifests, Layers []descriptor
		Config            descriptor
	}
	if err := json.Unmarshal(data, &node); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(node.Layers) > 0 {
		node.Manifests = append(node.Layers, node.Config)
	}
	if len(node.Manifests) == 0 {
		t.Errorf("%s names nothing:\n%s", file, data)
	}
	for _, d := range node.Manifests {
		blob := filepath.Join("blobs", "sha256", strings.TrimPrefix(d.Digest, "sha256:"))
		data, err := os.ReadFile(filepath.Join(layout, blob))
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); err != nil || sum != d.Digest || len(data) != d.Size {
			t.Errorf("%s names %+v, which is not there: %v", file, d, err)
		} else if !strings.Contains(d.MediaType, "layer") && !strings.Contains(d.MediaType, "config") {
			checkImage(t, layout, blob)
		}
	}
}
