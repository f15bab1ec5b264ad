# SPDX-License-Identifier: MIT
# How each program of programs.sh is started, loaded and ended. NAME_start sets VICTIM; NAME_end
# fails if a request did, or a program that checks itself found something.
# shellcheck shell=sh disable=SC2034,SC2154

# serves PORT: somebody listens there.
serves() {
	python3 -c "import socket; socket.create_connection(('127.0.0.1', $1)).close()"
}

# ended_by SIGNAL PID NAME
ended_by() {
	kill -"$1" "$2" || fail "$3 is gone"
	await 30 is_gone "$2" || fail "$3 does not end"
}

# --- by HTTP -------------------------------------------------------------------

# http_load PORT: until http_load_end.
http_load() {
	background http_load wrk -t 1 -c 4 -d 600s --timeout 10s "http://127.0.0.1:$1/"
	HTTP_LOAD=$LAST
}

http_load_end() {
	kill -0 "$HTTP_LOAD" || fail "the load ended early: $(cat "$WORK/http_load.err")"
	ended_by INT "$HTTP_LOAD" wrk
	grep -qE '^ *[1-9][0-9]* requests' "$WORK/http_load.out" || fail "no request was answered"
	! grep -E 'Non-2xx|Socket errors' "$WORK/http_load.out" || fail "requests failed"
}

haproxy_start() {
	HAPROXY_PORT=$(free_port)
	cat >"$WORK/haproxy_conf" <<-END
		global
			maxconn 256
		defaults
			mode http
			timeout client 10s
			timeout server 10s
			timeout connect 10s
		frontend all
			bind 127.0.0.1:$HAPROXY_PORT
			http-request set-header X-Long %[rand(1000000)],%[path],%[src]
			http-request return status 200 content-type text/plain lf-string "%[date]"
	END
	background haproxy haproxy -db -f "$WORK/haproxy_conf"
	VICTIM=$LAST
	await 20 serves "$HAPROXY_PORT" || fail "haproxy: $(cat "$WORK/haproxy.err")"
	http_load "$HAPROXY_PORT"
}

haproxy_end() {
	http_load_end
	ended_by TERM "$VICTIM" haproxy
}

# Its manager compiles what it does to C; the child serves.
varnish_start() {
	nginx_start
	VARNISH_PORT=$(free_port)
	background varnish varnishd -F -j none -a "127.0.0.1:$VARNISH_PORT" -n "$WORK/varnish" \
		-b "127.0.0.1:$NGINX_PORT" -s malloc,32m -t 0.01 -p vcc_allow_inline_c=off
	VARNISH=$LAST
	await 60 serves "$VARNISH_PORT" || fail "varnish: $(cat "$WORK/varnish.err")"
	VICTIM=$(cat "/proc/$VARNISH/task/$VARNISH/children" | tr -d ' ')
	own "$VICTIM"
	http_load "$VARNISH_PORT"
}

varnish_end() {
	http_load_end
	ended_by TERM "$VARNISH" varnish
	ended_by TERM "$NGINX" nginx
}

# A worker of php-fpm, behind nginx.
php_start() {
	PHP_PORT=$(free_port)
	PHP_HTTP_PORT=$(free_port)
	mkdir "$WORK/php"
	cat >"$WORK/php/index.php" <<-'END'
		<?php
		$all = [];
		for ($i = 0; $i < 200; $i++)
			$all["key$i"] = str_repeat("x", $i * 20) . json_encode([$i, [3, "4"]]);
		echo strlen(serialize($all));
		echo preg_replace('/k(e)y/', '$1', implode(",", array_keys($all)));
	END
	cat >"$WORK/php/fpm.conf" <<-END
		[global]
		error_log = $WORK/php/log
		daemonize = no
		[www]
		user = nobody
		group = nogroup
		listen = 127.0.0.1:$PHP_PORT
		pm = static
		pm.max_children = 1
	END
	cat >"$WORK/php/nginx.conf" <<-END
		daemon off;
		worker_processes 1;
		error_log $WORK/php/error.log;
		pid $WORK/php/pid;
		events { worker_connections 64; }
		http {
			access_log off;
			fastcgi_temp_path $WORK/php; client_body_temp_path $WORK/php;
			proxy_temp_path $WORK/php; uwsgi_temp_path $WORK/php;
			scgi_temp_path $WORK/php;
			server {
				listen 127.0.0.1:$PHP_HTTP_PORT;
				location / {
					fastcgi_pass 127.0.0.1:$PHP_PORT;
					fastcgi_param SCRIPT_FILENAME $WORK/php/index.php;
					fastcgi_param REQUEST_METHOD GET;
				}
			}
		}
	END
	chmod -R a+rwX "$WORK/php"
	background php php-fpm8.2 -F -R -y "$WORK/php/fpm.conf"
	PHP=$LAST
	background php_nginx nginx -c "$WORK/php/nginx.conf" -p "$WORK/php"
	PHP_NGINX=$LAST
	await 30 serves "$PHP_PORT" && await 30 serves "$PHP_HTTP_PORT" ||
		fail "php-fpm: $(cat "$WORK/php.err" "$WORK/php/log")"
	VICTIM=$(cat "/proc/$PHP/task/$PHP/children" | tr -d ' ')
	own "$VICTIM"
	http_load "$PHP_HTTP_PORT"
}

php_end() {
	http_load_end
	ended_by QUIT "$PHP" php-fpm
	ended_by TERM "$PHP_NGINX" nginx
}

# --- by other protocols --------------------------------------------------------

bind9_start() {
	BIND_PORT=$(free_port)
	mkdir "$WORK/bind"
	cat >"$WORK/bind/conf" <<-END
		options {
			directory "$WORK/bind"; pid-file none; session-keyfile none;
			listen-on port $BIND_PORT { 127.0.0.1; }; listen-on-v6 { none; };
			recursion no; dnssec-validation no;
		};
		controls { };
		zone "example" { type primary; file "$WORK/bind/zone"; };
	END
	{
		echo '$TTL 60'
		echo '@ IN SOA ns hostmaster 1 60 60 60 60'
		echo '@ IN NS ns'
		echo 'ns IN A 127.0.0.1'
		i=0
		while [ $i -lt 1000 ]; do
			echo "h$i IN A 10.0.$((i / 250)).$((i % 250))"
			i=$((i + 1))
		done
	} >"$WORK/bind/zone"
	background bind named -g -c "$WORK/bind/conf" -n 2
	VICTIM=$LAST
	await 30 grep -q 'running$' "$WORK/bind.err" || fail "named: $(tail -n 5 "$WORK/bind.err")"
	background dns_load python3 "$SRCDIR/tests/targets/dns_load.py" "$BIND_PORT"
	DNS_LOAD=$LAST
}

bind9_end() {
	ended_by TERM "$DNS_LOAD" "the load"
	grep -qE '^[1-9][0-9]* answers$' "$WORK/dns_load.out" ||
		fail "the load: $(cat "$WORK/dns_load.out" "$WORK/dns_load.err")"
	ended_by TERM "$VICTIM" named
}

mariadb_start() {
	mkdir "$WORK/mariadb"
	chmod 777 "$WORK/mariadb"
	mariadb-install-db --no-defaults --datadir="$WORK/mariadb/data" --user=nobody \
		--auth-root-authentication-method=normal --skip-test-db \
		>"$WORK/mariadb/made" 2>&1 || fail "$(tail -n 5 "$WORK/mariadb/made")"
	background mariadb mariadbd --no-defaults --datadir="$WORK/mariadb/data" --user=nobody \
		--socket="$WORK/mariadb/socket" --skip-networking --pid-file="$WORK/mariadb/pid" \
		--innodb-flush-log-at-trx-commit=0
	VICTIM=$LAST
	await 60 mariadb-admin --no-defaults -S "$WORK/mariadb/socket" ping ||
		fail "mariadbd: $(tail -n 5 "$WORK/mariadb.err")"
	background sql_load sh -c "while :; do mariadb-slap --no-defaults \
		-S '$WORK/mariadb/socket' --concurrency=4 --iterations=1 --auto-generate-sql \
		--number-of-queries=2000 || exit 1; done"
	SQL_LOAD=$LAST
}

mariadb_end() {
	kill -0 "$SQL_LOAD" || fail "the load ended: $(cat "$WORK/sql_load.err")"
	[ ! -s "$WORK/sql_load.err" ] || fail "the load saw: $(head -n 3 "$WORK/sql_load.err")"
	ended_by TERM "$SQL_LOAD" "the load"
	await 20 grep -q Benchmark "$WORK/sql_load.out" || fail "no query was answered"
	ended_by TERM "$VICTIM" mariadbd
}

# Each line that was sent is in the file in the end.
rsyslogd_start() {
	SYSLOG_PORT=$(free_port)
	mkdir "$WORK/syslog"
	cat >"$WORK/syslog/conf" <<-END
		global(workDirectory="$WORK/syslog")
		module(load="imtcp")
		input(type="imtcp" address="127.0.0.1" port="$SYSLOG_PORT")
		if \$msg contains "counted" then action(type="omfile" file="$WORK/syslog/lines")
	END
	background rsyslogd rsyslogd -n -f "$WORK/syslog/conf" -i "$WORK/syslog/pid"
	VICTIM=$LAST
	await 30 serves "$SYSLOG_PORT" || fail "rsyslogd: $(cat "$WORK/rsyslogd.err")"
	background syslog_load python3 "$SRCDIR/tests/targets/syslog_load.py" "$SYSLOG_PORT"
	SYSLOG_LOAD=$LAST
}

all_lines_there() { [ "$(wc -l <"$WORK/syslog/lines")" -eq "$SYSLOG_SENT" ]; }

rsyslogd_end() {
	ended_by TERM "$SYSLOG_LOAD" "the load"
	SYSLOG_SENT=$(sed -n 's/ sent$//p' "$WORK/syslog_load.out")
	[ "${SYSLOG_SENT:-0}" -gt 0 ] || fail "the load: $(cat "$WORK/syslog_load.err")"
	await 30 all_lines_there ||
		fail "$SYSLOG_SENT lines were sent, $(wc -l <"$WORK/syslog/lines") are there"
	ended_by TERM "$VICTIM" rsyslogd
}

# Matches of a stream that never ends.
ripgrep_start() {
	mkfifo "$WORK/stream"
	background stream sh -c "exec yes 'a line with a word, and another word' >'$WORK/stream'"
	STREAM=$LAST
	background ripgrep sh -c "exec rg --json 'w(o)rd' - <'$WORK/stream' >/dev/null"
	VICTIM=$LAST
	await 20 works_for "$VICTIM" 20 || fail "ripgrep: $(cat "$WORK/ripgrep.err")"
}

ripgrep_end() {
	kill -0 "$VICTIM" || fail "ripgrep is gone"
	ended_by TERM "$STREAM" "the stream"
	await 20 is_gone "$VICTIM" || fail "ripgrep does not end"
	wait "$VICTIM" || fail "ripgrep ended with $?"
}

# works_for PID TICKS: it has taken so much of a processor's time.
works_for() { [ "$(sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f12)" -ge "$2" ]; }

# --- programs that check themselves ---------------------------------------------

# checker NAME COMMAND...: goes on until $WORK/NAME.stop is there, then says "good".
checker() {
	checker_name=$1
	shift
	STOP_FILE=$WORK/$checker_name.stop
	export STOP_FILE
	background "$checker_name" "$@"
	VICTIM=$LAST
	await 30 works_for "$VICTIM" 30 || fail "$checker_name: $(cat "$WORK/$checker_name.err")"
}

checker_end() {
	: >"$WORK/$1.stop"
	await 60 is_gone "$VICTIM" || fail "$1 does not end"
	expect "$(tail -n 1 "$WORK/$1.out")" good "$1 says"
}

python3_start() {
	checker python3 env PYTHONMALLOC=malloc python3 -c '
import json, os
while not os.path.exists(os.environ["STOP_FILE"]):
    for i in range(200):
        value = {"key%d" % j: [j, str(j) * (j % 50), {"a": None}] for j in range(50)}
        assert json.loads(json.dumps(value)) == value
print("good")'
}
python3_end() { checker_end python3; }

perl_start() {
	checker perl perl -e '
while (!-e $ENV{STOP_FILE}) {
	for (1 .. 200) {
		my %h = map { ("k$_" => "v" x ($_ % 90)) } 1 .. 200;
		my $n = grep { length $h{"k$_"} == $_ % 90 } 1 .. 200;
		die "wrong" unless $n == 200;
	}
}
print "good\n";'
}
perl_end() { checker_end perl; }

ruby_start() {
	checker ruby ruby -e '
until File.exist?(ENV["STOP_FILE"])
  200.times do
    all = (1..200).map { |i| ["k#{i}", "v" * (i % 90)] }.to_h
    raise "wrong" unless all.all? { |k, v| v.length == k[1..].to_i % 90 }
  end
end
puts "good"'
}
ruby_end() { checker_end ruby; }

node_start() {
	checker node node -e '
const fs = require("fs"), zlib = require("zlib");
while (!fs.existsSync(process.env.STOP_FILE)) {
	for (let i = 0; i < 50; i++) {
		const text = JSON.stringify([...Array(200).keys()].map((j) => "v".repeat(j % 90)));
		if (zlib.inflateSync(zlib.deflateSync(text)).toString() !== text)
			throw new Error("wrong");
	}
}
console.log("good");'
}
node_end() { checker_end node; }

java_start() {
	cat >"$WORK/Check.java" <<-'END'
		import java.io.File;
		import java.util.zip.*;
		public class Check {
			public static void main(String[] a) throws Exception {
				File stop = new File(System.getenv("STOP_FILE"));
				byte[] text = new byte[20000], back = new byte[20000];
				byte[] packed = new byte[30000];
				for (int n = 0; !stop.exists(); n++)
					for (int round = 0; round < 50; round++) {
						for (int i = 0; i < text.length; i++)
							text[i] = (byte) (i * (n + round) >> 5);
						Deflater d = new Deflater();
						d.setInput(text);
						d.finish();
						Inflater i = new Inflater();
						i.setInput(packed, 0, d.deflate(packed));
						if (i.inflate(back) != text.length ||
						    !java.util.Arrays.equals(text, back))
							throw new Exception("wrong");
						d.end();
						i.end();
					}
				System.out.println("good");
			}
		}
	END
	checker java java -Xmx128m "$WORK/Check.java"
}
java_end() { checker_end java; }

erlang_start() {
	checker erlang erl -noshell -eval '
Round = fun() ->
	All = [{I, binary:copy(<<"v">>, I rem 900 + 100)} || I <- lists:seq(1, 300)],
	All = binary_to_term(zlib:uncompress(zlib:compress(term_to_binary(All))))
end,
Go = fun Go() -> case filelib:is_file(os:getenv("STOP_FILE")) of
	true -> io:format("good~n"), halt();
	false -> [Round() || _ <- lists:seq(1, 50)], Go() end end,
Go().'
}
erlang_end() { checker_end erlang; }

# A Go program with a part in C.
prometheus_start() {
	PROMETHEUS_PORT=$(free_port)
	printf 'global:\n  scrape_interval: 1s\n' >"$WORK/prometheus.yml"
	background prom prometheus --config.file="$WORK/prometheus.yml" \
		--storage.tsdb.path="$WORK/tsdb" --web.listen-address="127.0.0.1:$PROMETHEUS_PORT"
	VICTIM=$LAST
	await 60 serves "$PROMETHEUS_PORT" || fail "prometheus: $(cat "$WORK/prom.err")"
}

prometheus_end() {
	serves "$PROMETHEUS_PORT" || fail "prometheus does not serve any more"
	ended_by TERM "$VICTIM" prometheus
}
