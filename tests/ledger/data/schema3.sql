-- A ledger as dplda wrote it with schema 3, key 44618aa38b6e19a725818ab3a6c101c77fb52cba1f81fa86b201cc7074d8ac5f
PRAGMA application_id = 1685089380;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE cells (
	comparison VARCHAR NOT NULL, 
	placement VARCHAR NOT NULL, 
	calibration VARCHAR NOT NULL, 
	epsilon DOUBLE NOT NULL, 
	repeat INTEGER NOT NULL, 
	outcome VARCHAR, 
	PRIMARY KEY (comparison, placement, calibration, epsilon, repeat), 
	FOREIGN KEY(comparison) REFERENCES comparisons (name)
);
CREATE TABLE comparisons (
	name VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	corpus VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	parameters VARCHAR NOT NULL, 
	created VARCHAR NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE (number)
);
CREATE TABLE datasets (
	name VARCHAR NOT NULL, 
	created VARCHAR NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "datasets" VALUES('tickets','2026-11-22T06:15:05.675361+00:00');
CREATE TABLE events (
	run VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	event VARCHAR NOT NULL, 
	asked BOOLEAN NOT NULL, 
	PRIMARY KEY (run, position), 
	FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "events" VALUES('tickets-6nrua7',0,'{"count":1,"mechanism":"gaussian","noise_multiplier":1.0,"stage":"core"}',1);
CREATE TABLE grants (
	number INTEGER NOT NULL, 
	dataset VARCHAR NOT NULL, 
	epsilon DOUBLE NOT NULL, 
	delta DOUBLE NOT NULL, 
	unbounded BOOLEAN NOT NULL, 
	after_run INTEGER NOT NULL, 
	created VARCHAR NOT NULL, 
	PRIMARY KEY (number), 
	FOREIGN KEY(dataset) REFERENCES datasets (name)
);
INSERT INTO "grants" VALUES(1,'tickets',8.0,1.0e-05,0,0,'2026-11-22T06:15:05.672906+00:00');
CREATE TABLE head (
	id INTEGER NOT NULL, 
	length INTEGER NOT NULL, 
	code VARCHAR NOT NULL, 
	seal VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "head" VALUES(1,8,'8203150e471da147b1d3a15d35949cb6885816ce972db5a847e34aea7f6f3b91','8434979203bb2fc6da3e6f8e8cef016e5d15da3856361476ccd04b271ac4bf3c','5b9f3328daa1a11b59a0277cf8487ad40cfeacb743c04b6b283dc0f831f8e34b');
CREATE TABLE journal (
	number INTEGER NOT NULL, 
	change VARCHAR NOT NULL, 
	code VARCHAR NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "journal" VALUES(1,'{"row":{"created":"2026-11-22T06:15:05.675361+00:00","name":"tickets"},"table":"datasets"}','c3859e0e3a4141edcb40e44d4bfa0332bcb32acc5754caf7c3770f3367e513d8');
INSERT INTO "journal" VALUES(2,'{"row":{"after_run":0,"created":"2026-11-22T06:15:05.672906+00:00","dataset":"tickets","delta":1e-05,"epsilon":8.0,"number":1,"unbounded":false},"table":"grants"}','6a6230b3dda171565952c4f4cfde7291d354c05b83896f3ef6d0d1d77f830a2a');
INSERT INTO "journal" VALUES(3,'{"row":{"adjacency":"add-remove","created":"2026-11-22T06:15:06.200015+00:00","dataset":"tickets","delta":1e-06,"epsilon":2.0,"fingerprint":null,"id":"tickets-6nrua7","model":null,"number":1,"parameters":"{\"topics\":20}","reason":"","seconds":"{}","sound":true,"status":"reserved","unit":"unit"},"table":"runs"}','12b4cbd6bbcffb055c3345c1b9f082db6b475c316d509703ca1988862ae15b5c');
INSERT INTO "journal" VALUES(4,'{"row":{"asked":false,"event":"{\"count\":1,\"mechanism\":\"gaussian\",\"noise_multiplier\":1.0,\"stage\":\"core\"}","position":0,"run":"tickets-6nrua7"},"table":"events"}','00227c8b3943ae8349a3448385c8b4ea5e4cfafb8a19a4a27f7be3e62ece058b');
INSERT INTO "journal" VALUES(5,'{"row":{"documents":"iu/mFldU/U65OSp/ZAROgbF2mvJyfqaNKcg3OEleGvE=","fingerprint":"8e9211888ddd3e0a7be89aae85a220877b9b1764766c39f8bdc7d3a0aca8c465"},"table":"sketches"}','4b48c8ecf338a6236f7a0aee9b04561b2579072c2dd48851aaf4d368232e0e9d');
INSERT INTO "journal" VALUES(6,'{"row":{"adjacency":"add-remove","created":"2026-11-22T06:15:06.200015+00:00","dataset":"tickets","delta":1e-06,"epsilon":2.0,"fingerprint":"8e9211888ddd3e0a7be89aae85a220877b9b1764766c39f8bdc7d3a0aca8c465","id":"tickets-6nrua7","model":null,"number":1,"parameters":"{\"topics\":20}","reason":"","seconds":"{}","sound":true,"status":"reserved","unit":"unit"},"table":"runs"}','5d0b424f0ebb307c58ebc585f1f236c4ddbfdedd725cf1c39af22dff528a33b0');
INSERT INTO "journal" VALUES(7,'{"row":{"asked":true,"event":"{\"count\":1,\"mechanism\":\"gaussian\",\"noise_multiplier\":1.0,\"stage\":\"core\"}","position":0,"run":"tickets-6nrua7"},"table":"events"}','6bce7b09a905b0f35631435123ca175049af0d33701970ba844e48f9dde72879');
INSERT INTO "journal" VALUES(8,'{"row":{"adjacency":"add-remove","created":"2026-11-22T06:15:06.200015+00:00","dataset":"tickets","delta":1e-06,"epsilon":2.0,"fingerprint":"8e9211888ddd3e0a7be89aae85a220877b9b1764766c39f8bdc7d3a0aca8c465","id":"tickets-6nrua7","model":null,"number":1,"parameters":"{\"topics\":20}","reason":"","seconds":"{}","sound":true,"status":"done","unit":"unit"},"table":"runs"}','8203150e471da147b1d3a15d35949cb6885816ce972db5a847e34aea7f6f3b91');
CREATE TABLE overlaps (
	earlier VARCHAR NOT NULL, 
	later VARCHAR NOT NULL, 
	PRIMARY KEY (earlier, later), 
	FOREIGN KEY(earlier) REFERENCES sketches (fingerprint), 
	FOREIGN KEY(later) REFERENCES sketches (fingerprint)
);
CREATE TABLE runs (
	id VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	dataset VARCHAR NOT NULL, 
	unit VARCHAR NOT NULL, 
	adjacency VARCHAR NOT NULL, 
	epsilon DOUBLE NOT NULL, 
	delta DOUBLE NOT NULL, 
	sound BOOLEAN NOT NULL, 
	status VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	parameters VARCHAR NOT NULL, 
	seconds VARCHAR NOT NULL, 
	model VARCHAR, 
	fingerprint VARCHAR, 
	created VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (number), 
	FOREIGN KEY(dataset) REFERENCES datasets (name)
);
INSERT INTO "runs" VALUES('tickets-6nrua7',1,'tickets','unit','add-remove',2.0,1.0e-06,1,'done','','{"topics":20}','{}',NULL,'8e9211888ddd3e0a7be89aae85a220877b9b1764766c39f8bdc7d3a0aca8c465','2026-11-22T06:15:06.200015+00:00');
CREATE TABLE sketches (
	fingerprint VARCHAR NOT NULL, 
	documents VARCHAR NOT NULL, 
	PRIMARY KEY (fingerprint)
);
INSERT INTO "sketches" VALUES('8e9211888ddd3e0a7be89aae85a220877b9b1764766c39f8bdc7d3a0aca8c465','iu/mFldU/U65OSp/ZAROgbF2mvJyfqaNKcg3OEleGvE=');
COMMIT;
