package database

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
)

// passwordPrompt asks for the password of a database, once for all who open it. It is safe for concurrent use.
type passwordPrompt struct {
	app *command.App

	mu      sync.Mutex
	address string // of the database, with the password that was entered; "" if none was
	failed  bool   // it was asked for, and not entered
}

// connect opens a database. If the server wants a password, and none was found, the user is asked for it on the
// terminal, as by psql. Without a terminal, the error of the server remains.
func connect[S any](ctx context.Context, d Database, open func(address string) (S, error)) (S, error) {
	var none S // a nil pointer of the database in it would not be nil
	opened, err := open(d.prompt.known(d.address))
	if asks, question := d.question(err); question != "" && d.prompt != nil {
		address, promptErr := d.prompt.ask(ctx, question, func(password string) (string, error) {
			return asks.withPassword(d.address, password)
		})
		switch {
		case promptErr != nil:
			return none, promptErr
		case address != "":
			opened, err = open(address)
		}
	}
	if err != nil {
		return none, d.Explain(err)
	}
	return opened, nil
}

// question returns what to ask the user after an error: for the password that a server wants and nobody has named;
// otherwise "".
func (d Database) question(err error) (asks server, question string) {
	asks, is := d.engine().(server)
	if !is {
		return nil, ""
	}
	user, database, where := asks.wanted(err)
	if user == "" {
		return nil, ""
	}
	if database != "" {
		where = fmt.Sprintf("database %q on %s", database, where)
	}
	return asks, fmt.Sprintf("Enter password of user %q for %s:", user, where)
}

// known returns the address with the password, if it was entered, or else the address.
func (p *passwordPrompt) known(address string) string {
	if p == nil {
		return address
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.address != "" {
		return p.address
	}
	return address
}

// ask asks for the password, unless that is done already, and returns the address of the database with it. It is "" if
// there is nobody to ask, or nothing was entered.
func (p *passwordPrompt) ask(
	ctx context.Context, question string, with func(password string) (address string, err error),
) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.address != "" || p.failed {
		return p.address, nil
	}
	password, err := p.app.Console.AskPassphrase(ctx, question)
	p.failed = err != nil || password == ""
	switch {
	case errors.Is(err, ui.ErrNoTerminal):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("asking for the password: %w", err)
	case password == "":
		return "", nil
	}
	p.app.Secrets.Add(password)
	p.address, err = with(password)
	return p.address, err
}
