package read

import (
	"strings"
	"testing"

	"culvert/source"
)

// TestHideSecrets empties the options of engines that connect to other servers, some of which no test server has, and
// leaves other texts as they are.
func TestHideSecrets(t *testing.T) {
	const columns = "CREATE TABLE `t` (\n  `i` int DEFAULT 1 COMMENT 'CONNECTION=''kept'''\n"
	for _, test := range []struct{ options, want string }{
		{
			") ENGINE=InnoDB COMMENT='CONNECTION=''kept'' \\' PASSWORD='",
			") ENGINE=InnoDB COMMENT='CONNECTION=''kept'' \\' PASSWORD='",
		},
		{
			") ENGINE=FEDERATED DEFAULT CHARSET=utf8mb4 CONNECTION='mysql://me:sec''ret@db/shop/t'",
			") ENGINE=FEDERATED DEFAULT CHARSET=utf8mb4 CONNECTION=''",
		},
		{
			") ENGINE=CONNECT CONNECTION='mysql://me:secret@db/t' `OPTION_LIST`='Password=secret' COMMENT='kept'",
			") ENGINE=CONNECT CONNECTION='' `OPTION_LIST`='' COMMENT='kept'",
		},
		{
			") ENGINE=CONNECT `Password`='secret' `option_list`='user=me,password=secret' comment='kept'",
			") ENGINE=CONNECT `Password`='' `option_list`='' comment='kept'",
		},
		{
			") ENGINE=CONNECT option_list='user=me,password=secret'",
			") ENGINE=CONNECT option_list=''",
		},
		{
			") ENGINE=SPIDER comment='password \"secret\"'\n (PARTITION p Comment = 'password \"secret\"' ENGINE = X)",
			") ENGINE=SPIDER comment=''\n (PARTITION p Comment = '' ENGINE = X)",
		},
		{
			") ENGINE=SPIDER COMMENT='password \"secret\"'\n (PARTITION p COMMENT = 'password \"secret\"' ENGINE = X)",
			") ENGINE=SPIDER COMMENT=''\n (PARTITION p COMMENT = '' ENGINE = X)",
		},
	} {
		d := &source.Definition{Create: columns + test.options, Comment: "secret"}
		hideSecrets(d)
		if d.Create != columns+test.want {
			t.Errorf("%s becomes %s", test.options, strings.TrimPrefix(d.Create, columns))
		}
		if isSpider := strings.Contains(test.options, "SPIDER"); isSpider != (d.Comment == "") {
			t.Errorf("%s: the comment is %q", test.options, d.Comment)
		}
	}
}
