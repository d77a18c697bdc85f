package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

// list writes which modules, in which versions, a program was built of: a software bill of materials.
func (r *release) list(p program) error {
	generator, err := bin.NewGenerator(p.path, bin.WithIncludeStdlib(true), bin.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	bom, err := generator.Generate()
	if err != nil {
		return err
	}
	bom.Metadata.Timestamp = r.date.Format(time.RFC3339)
	return create(r.name(p, ".cdx.json"), func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// sums is the file of the checksums, as sha256sum -c reads it.
const sums = "SHA256SUMS"

// namespace is what a signature is for, so that none that was made for something else can stand in for it.
const namespace = "culvert-release"

// sum writes the checksums of all files, and signs them if the publisher gives a key.
func (r *release) sum() error {
	found, err := filepath.Glob(filepath.Join(r.dir, "culvert*"))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, name := range found {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), filepath.Base(name))
	}
	path := filepath.Join(r.dir, sums)
	signature := path + ".sig"
	if err := errors.Join(os.WriteFile(path, text.Bytes(), 0o644), os.RemoveAll(signature)); err != nil {
		return err
	}
	key := os.Getenv("CULVERT_RELEASE_KEY")
	if key == "" {
		r.say("not signed: CULVERT_RELEASE_KEY names no key of SSH")
		return nil
	}
	// The key may be a public one whose other half is in an agent or on a token.
	cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, path)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	return cmd.Run()
}
