//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1" //nolint:gosec // apk compares files by it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// checkAPK reads an apk as its tool does, and has that install it, if there is one here.
func checkAPK(t *testing.T, apk string) {
	list := "/" + strings.ReplaceAll(output(t, "", "tar", "-tzf", apk), "\n", "\n/")
	checkList(t, "apk", strings.ReplaceAll(list, "/\n", "\n"))
	packed, err := os.ReadFile(apk)
	if err != nil {
		t.Fatal(err)
	}
	// The first member of gzip says what the package is, without the end of an archive, and the second has the files.
	in := bytes.NewReader(packed)
	control := member(t, in)
	files := packed[len(packed)-in.Len():]
	about := tar.NewReader(bytes.NewReader(control))
	header, err := about.Next()
	if err != nil || header.Name != ".PKGINFO" {
		t.Fatalf("the apk begins with %v, %v", header, err)
	}
	info, err := io.ReadAll(about)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := about.Next(); err != io.EOF || len(control)%512 != 0 || isZero(control[len(control)-512:]) {
		t.Errorf("the control of the apk ends its archive, or has more than .PKGINFO: %v", err)
	}
	checkInfo(t, string(info), files)
	checkFiles(t, member(t, bytes.NewReader(files)))
	if _, err := exec.LookPath("apk"); err == nil {
		installAPK(t, apk)
	}
}

// member returns the text of one member of gzip.
func member(t *testing.T, in *bytes.Reader) []byte {
	t.Helper()
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	unpacked.Multistream(false)
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func isZero(block []byte) bool { return len(bytes.Trim(block, "\x00")) == 0 }

// checkInfo reads lines of fields, with a version of the form of apk and the hash of the files.
func checkInfo(t *testing.T, info string, files []byte) {
	version := regexp.MustCompile(`^\d+(\.\d+)*(_(alpha|beta|pre|rc|git|p)\d*)*-r\d+$`)
	sum, found := sha256.Sum256(files), map[string]string{}
	for line := range strings.Lines(info) {
		line = strings.TrimSuffix(line, "\n")
		name, value, isField := strings.Cut(line, " = ")
		if line != "" && !strings.HasPrefix(line, "#") && !isField {
			t.Errorf("the apk has a line that is no field: %q", line)
		}
		found[name] = value
	}
	if !version.MatchString(found["pkgver"]) {
		t.Errorf("the apk has the version %s", found["pkgver"])
	}
	if want := hex.EncodeToString(sum[:]); found["datahash"] != want {
		t.Errorf("the apk says that the hash of its files is %s, and it is %s", found["datahash"], want)
	}
	for name, want := range map[string]string{"pkgname": "culvert", "arch": "x86_64", "license": "Apache-2.0"} {
		if found[name] != want {
			t.Errorf("the apk says %s = %s, want %s", name, found[name], want)
		}
	}
}

// checkFiles compares the files with their hashes. All belong to root.
func checkFiles(t *testing.T, archive []byte) {
	files, regular := tar.NewReader(bytes.NewReader(archive)), 0
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "root" || header.Gname != "root" {
			t.Errorf("a file of the apk does not belong to root: %s", header.Name)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		regular++
		hash := sha1.New() //nolint:gosec // apk compares files by it
		if _, err := io.Copy(hash, files); err != nil {
			t.Fatal(err)
		}
		want := hex.EncodeToString(hash.Sum(nil))
		if got := header.PAXRecords["APK-TOOLS.checksum.SHA1"]; got != want {
			t.Errorf("the apk says that the hash of %s is %q, and it is %s", header.Name, got, want)
		}
	}
	if regular < len(listed)-1 {
		t.Errorf("the apk has %d files", regular)
	}
}

// installAPK installs an apk in a directory of its own, and removes it.
func installAPK(t *testing.T, apk string) {
	root := newRoot(t)
	// What is not of a repository would be lost from a system in memory, as the directory of a test may be.
	tool := []string{"--root", root, "--arch", "x86_64", "--no-network", "--force-non-repository"}
	output(t, "", "apk", append(tool, "--initdb", "--allow-untrusted", "add", apk)...)
	output(t, "", "chroot", root, "/usr/bin/culvert", "--version")
	if got := output(t, "", "apk", append(tool, "audit", "--system")...); got != "" {
		t.Errorf("apk finds changed: %s", got)
	}
	output(t, "", "apk", append(tool, "del", "culvert")...)
	checkRemoved(t, root, "")
}
