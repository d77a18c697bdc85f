package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/fileservice"
	"culvert/fusefs"
	"culvert/internal/plainfs"
	"culvert/place"
)

// defaultMountTimeout is shorter than that of other commands: a program cannot show that it waits for the network.
const defaultMountTimeout = 10 * time.Second

// The memory of a mount that decrypts, in bytes: for what is read ahead and lent to reads, and for the frames that are
// decrypted and decompressed. Those of all that is read ahead must fit, or they would be decoded again and again.
const (
	decryptedReads = 16 << 20
	frameMemory    = 32 << 20
)

// Leaving is how much longer than other commands a mount may take to end, for programs that use it.
const Leaving = 10 * time.Second

// mountOptions are the flags of culvert mount.
type mountOptions struct {
	identities []string
	command.PassphraseFlags
	timeout                        time.Duration
	writable, decrypt, allowOthers bool

	json, quiet bool
}

// MountReport is the report of culvert mount, at its beginning and at its end.
type MountReport struct {
	command.Outcome
	URL       string `json:"url,omitempty"`
	Directory string `json:"directory"`
	Writable  bool   `json:"writable"`
	Decrypted bool   `json:"decrypted"`

	*mountedFigures // only at the end
}

type mountedFigures struct {
	Seconds    float64 `json:"seconds"`
	PeakMemory int64   `json:"peak_memory_bytes"`
}

// Text implements [command.Report].
func (r *MountReport) Text() string { return "" }

// NewMount returns culvert mount.
func NewMount(a *command.App) *cobra.Command {
	o := &mountOptions{}
	cmd := help.Command("mount")
	cmd.Args = command.Exactly(2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m := &mounting{app: a, options: o, report: &MountReport{
			Directory: args[1], Writable: o.writable, Decrypted: o.decrypt,
		}}
		m.report.Command = cmd.Name()
		err := m.run(cmd.Context(), args[0])
		return a.Deliver(cmd, m.report, a.Stdout, o.json, command.Interruption(cmd.Context(), err))
	}
	o.add(cmd)
	return cmd
}

func (o *mountOptions) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.identities, "identity", "i", nil,
		"be the identity in `FILE` (default: your own); repeat to decrypt")
	o.PassphraseFlags.Add(cmd)
	flags.BoolVar(&o.decrypt, "decrypt", false, "show encrypted files decrypted")
	flags.BoolVar(&o.writable, "rw", false, "let programs write too")
	flags.BoolVar(&o.allowOthers, "allow-other", false, "let other users in, if the permissions of the files allow it")
	flags.DurationVar(&o.timeout, "timeout", defaultMountTimeout, "give up if no byte moves for `TIME`")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVar(&o.quiet, "quiet", false, "show neither what is mounted nor figures")
}

// remote returns the flags that connect, which take one identity.
func (o *mountOptions) remote() (*argument.Flags, error) {
	if o.decrypt && o.writable {
		return nil, command.WithHint(
			command.Usagef("--decrypt and --rw exclude each other: what is decrypted can only be read"),
			"mount it twice, at two directories")
	}
	f := &argument.Flags{Timeout: o.timeout}
	f.PassphraseFlags = o.PassphraseFlags
	for i, path := range o.identities {
		switch {
		case path == "":
			return nil, command.Usagef("-i is empty")
		case i > 0 && !o.decrypt:
			return nil, command.WithHint(command.Usagef("a connection uses one identity, and %d are given",
				len(o.identities)),
				"further ones are to decrypt with: --decrypt")
		}
	}
	if len(o.identities) > 0 {
		f.Identity = command.NotEmpty(o.identities[0])
	}
	return f, nil
}

// mounting is one run of culvert mount.
type mounting struct {
	app     *command.App
	options *mountOptions
	report  *MountReport
	start   time.Time

	unopenedOnce, armoredOnce, damagedOnce sync.Once // for the warnings about files that are not decrypted
}

func (m *mounting) run(ctx context.Context, url string) (err error) {
	flags, err := m.options.remote()
	if err != nil {
		return err
	}
	l, err := argument.Remote(url)
	if err != nil {
		return err
	}
	m.report.URL = l.Text
	if l.IsBucket() && m.options.writable {
		return command.Usagef("a bucket or a directory is mounted read only, without --rw")
	}
	if err := checkMountPoint(m.report.Directory); err != nil {
		return err
	}
	if ctx, err = l.Open(ctx, m.app, flags); err != nil {
		return err
	}
	defer func() { err = l.Close(err) }()
	shown, err := m.shown(ctx, l, flags)
	if err != nil {
		return err
	}
	m.app.WaitFor(Leaving)
	command.CollectEvery(command.TransferRoom)
	mounted, err := fusefs.Mount(m.report.Directory, fusefs.Config{
		FS: shown, ReadWrite: m.options.writable, Name: m.report.URL, AllowOther: m.options.allowOthers,
		Timeout: m.options.timeout, Memory: m.readMemory(), Errno: mountErrno,
	})
	if err != nil {
		return m.explain(err)
	}
	m.start = time.Now()
	if err := m.announce(); err != nil {
		return errors.Join(err, mounted.Unmount())
	}
	return m.wait(ctx, mounted)
}

// wait waits for the end of the mount, or makes it.
func (m *mounting) wait(ctx context.Context, mounted *fusefs.Mounted) error {
	ended := make(chan error, 1)
	go func() { ended <- mounted.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = mounted.Unmount()
		if cause := context.Cause(ctx); !errors.Is(cause, command.ErrInterrupted) {
			err = errors.Join(cause, err) // the server is another one now
		}
	}
	if lost, is := errors.AsType[*fusefs.LostError](err); is {
		const what = "files with writes that may be lost, as programs had not closed them: %d"
		m.app.Console.Warn(fmt.Sprintf(what, lost.Files))
	}
	elapsed, peak := time.Since(m.start), ui.PeakMemory()
	m.report.mountedFigures = &mountedFigures{elapsed.Seconds(), peak}
	m.say(fmt.Sprintf("%s: unmounted, %s, peak memory %s", m.report.Directory, ui.Duration(elapsed), ui.Memory(peak)))
	return err
}

// readMemory is that of fusefs, or less where frames take some, too.
func (m *mounting) readMemory() int64 {
	if m.options.decrypt {
		return decryptedReads
	}
	return 0
}

// shown returns what is to be mounted.
func (m *mounting) shown(ctx context.Context, l *argument.Location, flags *argument.Flags) (fs.FS, error) {
	info, err := fs.Stat(l.Place, l.Name)
	if err != nil {
		return nil, l.Blame(err)
	}
	if !info.IsDir() {
		return nil, command.WithHint(command.Usagef("%s is not a directory", l.Text),
			"mount the directory that it is in")
	}
	if l.Client == nil {
		tree, err := place.Sub(l.Place, l.Name)
		if err != nil || !m.options.decrypt {
			return tree, err
		}
		identities, err := flags.Identities(ctx, m.app)
		if err != nil {
			return nil, err
		}
		return m.decrypted(ctx, plainfs.Config{FS: tree, Identities: identities})
	}
	tree, err := l.Client.Sub(l.Name)
	if err != nil {
		return nil, err
	}
	if m.options.writable {
		if err := tree.Chtimes(".", time.Time{}, time.Time{}); errors.Is(err, fileservice.ErrRefused) {
			return nil, command.WithHint(l.Blame(err), "mount it without --rw; or have it served with --writable")
		} else if err != nil {
			return nil, l.Blame(err)
		}
	}
	if !m.options.decrypt {
		return tree, nil
	}
	return m.decrypted(ctx, plainfs.Config{FS: tree, Identities: l.Identities})
}

// decrypted shows the files of a configuration decrypted, with its identities and the further ones of the flags.
func (m *mounting) decrypted(ctx context.Context, config plainfs.Config) (fs.FS, error) {
	reader := m.app.KeyReader(ctx, &m.options.PassphraseFlags)
	for _, path := range m.options.identities[min(1, len(m.options.identities)):] {
		more, err := reader.Identities(path)
		if err != nil {
			return nil, err
		}
		config.Identities = append(config.Identities, more...)
	}
	config.Memory, config.Unopened, config.Armored, config.Damaged = frameMemory, m.unopened, m.armored, m.damaged
	return plainfs.New(config)
}

// unopened warns of the first file that is not decrypted. There may be many, and people who have only some of the keys.
func (m *mounting) unopened(name string) {
	m.unopenedOnce.Do(func() {
		m.app.Console.Warn(fmt.Sprintf("no identity opens %s, which is shown as it is; there may be others, and an "+
			"identity for them is given with -i FILE", ui.Name(name)))
	})
}

// armored warns of the first file that is not decrypted because it is armored.
func (m *mounting) armored(name string) {
	m.armoredOnce.Do(func() {
		m.app.Console.Warn(fmt.Sprintf("%s is armored, and is shown as it is, as are others like it; "+
			"culvert decrypt opens them", ui.Name(name)))
	})
}

// damaged warns of the first file that is not decrypted because it is not whole.
func (m *mounting) damaged(name string) {
	m.damagedOnce.Do(func() {
		m.app.Console.Warn(fmt.Sprintf("%s is damaged or incomplete, and is shown as it is, as are others like it; "+
			"culvert verify checks every byte", ui.Name(name)))
	})
}

// checkMountPoint says before any connection is made what is wrong with a directory. One that cannot be looked at may
// have a dead mount on it, which will be taken away.
func checkMountPoint(dir string) error {
	opened, err := os.Open(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return command.WithHint(fmt.Errorf("mount directory %q does not exist", dir), command.HintToMake(dir))
	case err != nil:
		return nil
	}
	names, err := opened.Readdirnames(1)
	if closeErr := opened.Close(); closeErr != nil {
		return closeErr
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return command.Usagef("%q is not a directory", dir)
	case len(names) > 0:
		return command.WithHint(command.Usagef("mount directory %q is not empty", dir),
			"what is in it would not be seen: take another one",
			"if it is mounted already: fusermount3 -u "+command.ForShell(dir))
	case err != nil && err != io.EOF:
		return nil
	}
	return nil
}

// explain says what it means that nothing can be mounted.
func (m *mounting) explain(err error) error {
	device, noDevice := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if noDevice == nil {
		noDevice = device.Close()
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return command.WithHint(err, "copy the files: culvert pull "+command.ForShell(m.report.URL))
	case errors.Is(noDevice, fs.ErrNotExist):
		return command.WithHint(err, "the system has no /dev/fuse: load its module, modprobe fuse",
			"in a container, start it with --device /dev/fuse --cap-add SYS_ADMIN; or copy the files: culvert pull")
	case errors.Is(noDevice, fs.ErrPermission):
		return command.WithHint(err, "let users open /dev/fuse, as root: chmod 666 /dev/fuse")
	case errors.Is(err, exec.ErrNotFound):
		return command.WithHint(err, "install fusermount3: apt-get install fuse3, or dnf install fuse3")
	case m.options.allowOthers && os.Getuid() > 0:
		return command.WithHint(err, "--allow-other needs the line user_allow_other in /etc/fuse.conf")
	case errors.Is(err, fs.ErrPermission):
		return command.WithHint(err,
			"the directory must be your own; and in a container, root needs --cap-add SYS_ADMIN")
	}
	return err
}

// announce says that the directory can be used.
func (m *mounting) announce() error {
	r := m.report
	if m.options.json {
		return ui.WriteJSON(m.app.Stdout, r)
	}
	how := []string{"read only"}
	if r.Writable {
		how[0] = "writable"
	}
	if r.Decrypted {
		how = append(how, "decrypted")
	}
	if m.options.allowOthers {
		how = append(how, "for all users")
	}
	m.say(fmt.Sprintf("culvert: %s is mounted on %s, %s; Ctrl-C or fusermount3 -u %s ends it", r.URL,
		ui.Name(r.Directory), strings.Join(how, ", "), command.ForShell(r.Directory)))
	return nil
}

// say shows people a line.
func (m *mounting) say(text string) {
	if !m.options.quiet && !m.options.json {
		m.app.Console.Print(text)
	}
}
