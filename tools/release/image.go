package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who runs in a container. It owns its home and nothing else.
const user = 65532

// image makes an OCI image for all processors, as a layout in a tar file: what skopeo and podman call an oci-archive.
// It has the program, the certificates of Mozilla's authorities, and no other file of anybody.
func (r *release) image(work string, programs []program) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		layer, err := r.layer(p)
		if err != nil {
			return err
		}
		image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
		if err != nil {
			return err
		}
		image, err = mutate.ConfigFile(mutate.ConfigMediaType(image, types.OCIConfigJSON), r.imageConfig(p, image))
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.goos, Architecture: p.arch}},
		})
	}
	dir := filepath.Join(work, "image")
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})
	if err := written.AppendIndex(index, named); err != nil {
		return err
	}
	if err := checkLayout(dir); err != nil {
		return err
	}
	return create(r.name(program{goos: "linux", arch: "oci"}, ".tar"), func(w io.Writer) error {
		t := tar.NewWriter(w)
		return errors.Join(r.addTree(t, dir), t.Close())
	})
}

// checkLayout reads a layout back, with every byte of its layers.
func checkLayout(dir string) error {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	return validate.Index(index)
}

func (r *release) imageConfig(p program, image v1.Image) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // it is in memory
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.goos, p.arch, v1.Time{Time: r.date}
	config.Config = v1.Config{
		User:       "65532:65532",
		Env:        []string{"PATH=/usr/bin", "HOME=/home/culvert", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		WorkingDir: "/home/culvert",
		Entrypoint: []string{"/usr/bin/culvert"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "culvert",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	if page := r.homepage(); page != "" {
		config.Config.Labels["org.opencontainers.image.source"] = page
	}
	return config
}

// layer returns the files of an image.
func (r *release) layer(p program) (v1.Layer, error) {
	binary, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file cannot say what the others are good for
			_ = pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	var packed bytes.Buffer
	t := tar.NewWriter(&packed)
	dir := func(name string, owner int, mode int64) error {
		return t.WriteHeader(&tar.Header{
			Name: name, Typeflag: tar.TypeDir, Mode: mode, Uid: owner, Gid: owner, ModTime: r.date,
		})
	}
	passwd := "root:x:0:0::/:/sbin/nologin\nculvert:x:65532:65532::/home/culvert:/sbin/nologin\n"
	err = errors.Join(
		dir("etc/", 0, 0o755), r.addTo(t, "etc/passwd", []byte(passwd), 0o644),
		r.addTo(t, "etc/group", []byte("root:x:0:\nculvert:x:65532:\n"), 0o644),
		dir("etc/ssl/", 0, 0o755), dir("etc/ssl/certs/", 0, 0o755),
		r.addTo(t, "etc/ssl/certs/ca-certificates.crt", certificates.Bytes(), 0o644),
		dir("home/", 0, 0o755), dir("home/culvert/", user, 0o700), dir("tmp/", 0, 0o1777),
		dir("usr/", 0, 0o755), dir("usr/bin/", 0, 0o755), r.addTo(t, "usr/bin/culvert", binary, 0o755),
		t.Close(),
	)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// addTree adds the files below a directory, in the order of their names.
func (r *release) addTree(t *tar.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return r.addTo(t, filepath.ToSlash(name), data, 0o644)
	})
}
