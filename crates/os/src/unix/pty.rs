//! A pseudo-terminal. The keeper holds the master only: a slave end of its own would keep the terminal alive for
//! ever after the last process of the run is gone.

use crate::poll::Waitable;
use crate::socket::Got;
use crate::stdio::{self, Put};
use crate::system;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::pty::{grantpt, unlockpt};
use rustix::termios::{LocalModes, SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize};
use std::cell::{Cell, OnceCell};
use std::io;
use tenure_core::spec::Size;

/// The master end.
#[derive(Debug)]
pub struct Pty {
    master: OwnedFd,
    /// The root's end, if it must exist before the root does.
    slave: Option<system::Slave>,
    /// Reports only new events. Made when the last slave is closed while the run lives: a level-triggered wait
    /// would spin on the hang-up.
    edges: OnceCell<OwnedFd>,
    /// True if the terminal had no slave at the last read, so that only something new may wake us. While there is a
    /// slave, unread output wakes us.
    hung_up: Cell<bool>,
}

impl Pty {
    /// Opens a terminal of this size.
    pub fn open(size: Size) -> io::Result<Self> {
        let master = system::open_master()?;
        grantpt(&master)?;
        unlockpt(&master)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let slave = Some(system::Slave::of(&master)?);
        let pty = Self { master, slave, edges: OnceCell::new(), hung_up: Cell::new(false) };
        pty.resize(size)?;
        Ok(pty)
    }

    /// Returns the master end.
    pub(crate) fn master(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }

    /// Opens the slave for the root, between its fork and its execution.
    pub(crate) fn open_slave(&self) -> Result<OwnedFd, Errno> {
        self.slave.as_ref().ok_or(Errno::BADF)?.open(self.master())
    }

    /// Closes our copy of the slave, once the root has its own.
    pub(crate) fn leave_to_root(&mut self) {
        self.slave = None;
    }

    /// Returns the handle to wait on until input is accepted.
    pub fn keyboard(&self) -> Waitable<'_> {
        self.master.as_fd()
    }

    /// Returns the handle to wait on for output.
    pub fn shown(&self) -> Waitable<'_> {
        self.edges.get().filter(|_| self.hung_up.get()).unwrap_or(&self.master).as_fd()
    }

    /// Reads the output of the run's processes.
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        let got = stdio::read(&self.master, buffer);
        if got != Got::End {
            self.hung_up.set(false);
        }
        got
    }

    /// Writes as much input as is accepted now.
    pub fn write(&self, bytes: &[u8]) -> Put {
        stdio::write(&self.master, bytes)
    }

    /// Resizes the terminal; the kernel tells its foreground group.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).map_err(Into::into)
    }

    /// Reports that the run's processes are gone. Does nothing here: the system sees that by itself.
    pub fn hang_up(&self) {}

    /// Returns the keys that mean end of file to a program that reads lines. In the middle of a line the key only
    /// ends the wait for the line's end, so it is typed twice.
    pub fn end_of_input(&self, within_line: bool) -> Vec<u8> {
        let Ok(termios) = tcgetattr(&self.master) else { return vec![4] };
        let reads_lines = termios.local_modes.contains(LocalModes::ICANON);
        let times = if within_line && reads_lines { 2 } else { 1 };
        vec![termios.special_codes[SpecialCodeIndex::VEOF]; times]
    }

    /// Switches to waking on new events only: the last slave was closed, but a process may open the terminal again.
    /// Read once more after this.
    pub fn wait_for_reopening(&self) -> io::Result<()> {
        if self.edges.get().is_none() {
            let edges = system::edges_of(&self.master)?;
            // There is one thread, so it cannot have been set meanwhile.
            let _ = self.edges.set(edges);
        }
        self.edges.get().into_iter().for_each(system::take_edge);
        self.hung_up.set(true);
        Ok(())
    }
}
