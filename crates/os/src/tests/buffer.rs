use crate::buffer::Buffer;

#[test]
fn a_buffer_is_there_to_be_written_and_again_after_it_was_forgotten() {
    let mut buffer = Buffer::new(1 << 20).unwrap();
    assert_eq!(buffer.len(), 1 << 20);
    assert!(buffer.iter().all(|&byte| byte == 0));
    for round in 1..=3 {
        buffer.fill(round);
        assert!(buffer.iter().all(|&byte| byte == round));
        buffer.forget();
    }
}
